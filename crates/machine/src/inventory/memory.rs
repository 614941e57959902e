//! Memory: its size, its pages, and its NUMA nodes.

use model::inventory::{HugePages, Memory, NumaNode};

use super::look::Look;
use crate::tree::chosen;

const BLOCKS: &str = "sys/devices/system/memory";
const NODES: &str = "sys/devices/system/node";
const HUGE_PAGES: &str = "sys/kernel/mm/hugepages";

pub(super) fn collect(look: &Look) -> Memory {
    let meminfo = look.text("proc/meminfo", "memory").unwrap_or_default();
    let block_bytes = block_bytes(look);
    Memory {
        available_bytes: bytes_of(&meminfo, "MemAvailable"),
        swap_bytes: bytes_of(&meminfo, "SwapTotal"),
        swappiness: look.number("proc/sys/vm/swappiness", "swappiness"),
        block_bytes,
        online_bytes: block_bytes.map(|bytes| bytes * online_blocks(look)),
        transparent_huge_pages: look
            .text("sys/kernel/mm/transparent_hugepage/enabled", "huge pages")
            .as_deref()
            .and_then(chosen),
        huge_pages: huge_pages(look),
        nodes: nodes(look),
    }
}

/// The value of a line of meminfo, which counts in KiB: `MemTotal:  123 kB`, or `Node 0 MemTotal:
/// 123 kB`.
fn bytes_of(meminfo: &str, name: &str) -> Option<u64> {
    let mut lines = meminfo.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(key, _)| key.split(' ').next_back() == Some(name))?;
    let kibibytes: u64 = value.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

fn block_bytes(look: &Look) -> Option<u64> {
    let hexadecimal = look.text(&format!("{BLOCKS}/block_size_bytes"), "memory blocks")?;
    u64::from_str_radix(&hexadecimal, 16).ok()
}

fn online_blocks(look: &Look) -> u64 {
    let names = look.tree().names(BLOCKS);
    let is_online = |name: &&String| {
        let state = look.tree().text(&format!("{BLOCKS}/{name}/state"));
        state.is_some_and(|state| state == "online")
    };
    names.iter().filter(is_online).count() as u64
}

fn huge_pages(look: &Look) -> Vec<HugePages> {
    let pages = |name: &String| {
        let size = name.strip_prefix("hugepages-")?.strip_suffix("kB")?;
        let number = |file: &str| look.number(&format!("{HUGE_PAGES}/{name}/{file}"), "huge pages");
        Some(HugePages {
            size_bytes: size.parse::<u64>().ok()? * 1024,
            total: number("nr_hugepages")?,
            free: number("free_hugepages")?,
        })
    };
    let mut sizes: Vec<_> = look
        .tree()
        .names(HUGE_PAGES)
        .iter()
        .filter_map(pages)
        .collect();
    sizes.sort_unstable_by_key(|pages| pages.size_bytes);
    sizes
}

fn nodes(look: &Look) -> Vec<NumaNode> {
    let names = look.tree().names(NODES);
    let mut nodes: Vec<_> = names.iter().filter_map(|name| node(look, name)).collect();
    nodes.sort_unstable_by_key(|node| node.node);
    nodes
}

fn node(look: &Look, name: &str) -> Option<NumaNode> {
    let text = |file: &str| look.text(&format!("{NODES}/{name}/{file}"), "NUMA nodes");
    let distances = text("distance").unwrap_or_default();
    Some(NumaNode {
        node: name.strip_prefix("node")?.parse().ok()?,
        cpus: text("cpulist").unwrap_or_default(),
        memory_bytes: text("meminfo").and_then(|text| bytes_of(&text, "MemTotal")),
        distances: distances
            .split_whitespace()
            .filter_map(|distance| distance.parse().ok())
            .collect(),
    })
}
