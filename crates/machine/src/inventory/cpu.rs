//! The CPUs: topology, caches, frequency and idle states.

use std::collections::{BTreeMap, BTreeSet};

use model::inventory::{Cache, Cpu};

use super::look::Look;
use crate::facts::first_value;

const FOLDER: &str = "sys/devices/system/cpu";
const WHAT: &str = "topology and caches of the CPUs";

pub(super) fn collect(look: &Look) -> Cpu {
    let cpuinfo = look
        .text("proc/cpuinfo", "model and flags of the CPUs")
        .unwrap_or_default();
    let value = |name: &str| first_value(&cpuinfo, name);
    let text = |file: &str| look.text(&format!("{FOLDER}/{file}"), WHAT);
    let list = |file: &str| text(file).filter(|list| !list.is_empty());
    let mhz = |file: &str| Some(text(file)?.parse::<f64>().ok()? / 1000.0);
    let online = look.tree().online_cpus().unwrap_or_default();
    let topology = Topology::of(look, &online);
    Cpu {
        vendor: value("vendor_id").or_else(|| value("CPU implementer")),
        family: value("cpu family").and_then(|number| number.parse().ok()),
        model_number: value("model").and_then(|number| number.parse().ok()),
        stepping: value("stepping").and_then(|number| number.parse().ok()),
        online: list("online"),
        offline: list("offline"),
        isolated: list("isolated"),
        sockets: topology.sockets,
        cores_per_socket: topology.cores_per_socket,
        threads_per_core: topology.threads_per_core,
        smt: text("smt/control"),
        caches: caches(look, &online),
        frequency_driver: text("cpu0/cpufreq/scaling_driver"),
        min_mhz: mhz("cpu0/cpufreq/cpuinfo_min_freq"),
        max_mhz: mhz("cpu0/cpufreq/cpuinfo_max_freq"),
        idle_driver: text("cpuidle/current_driver"),
        idle_states: idle_states(look),
        available_clocksources: available_clocksources(look),
        flags: value("flags")
            .or_else(|| value("Features"))
            .map_or_else(Vec::new, |text| words(&text)),
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Numbers of sockets, cores and threads; zero where they cannot be seen.
#[derive(Default)]
struct Topology {
    sockets: u32,
    cores_per_socket: u32,
    threads_per_core: u32,
}

impl Topology {
    fn of(look: &Look, cpus: &[usize]) -> Self {
        let mut cores_by_socket: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut threads = 0;
        for cpu in cpus {
            let text = |file: &str| look.text(&format!("{FOLDER}/cpu{cpu}/topology/{file}"), WHAT);
            let (Some(socket), Some(core)) =
                (text("physical_package_id"), text("thread_siblings_list"))
            else {
                continue;
            };
            threads = threads.max(sys::cpu::parse_list(&core).map_or(1, |list| list.len()));
            cores_by_socket.entry(socket).or_default().insert(core);
        }
        let most_cores = cores_by_socket.values().map(BTreeSet::len).max();
        Self {
            sockets: count(cores_by_socket.len()),
            cores_per_socket: count(most_cores.unwrap_or(0)),
            threads_per_core: count(threads),
        }
    }
}

/// Counts the caches. Every CPU that uses a cache lists it, so two caches differ by the CPUs that
/// share them.
fn caches(look: &Look, cpus: &[usize]) -> Vec<Cache> {
    let mut sharers: BTreeMap<(String, u64), BTreeSet<String>> = BTreeMap::new();
    for cpu in cpus {
        let folder = format!("{FOLDER}/cpu{cpu}/cache");
        for index in look.tree().names(&folder) {
            let text = |file: &str| look.text(&format!("{folder}/{index}/{file}"), WHAT);
            let name = text("level")
                .zip(text("type"))
                .map(|(level, kind)| name(&level, &kind));
            let size = text("size").and_then(|size| size_bytes(&size));
            if let (Some(name), Some(size), Some(shared)) = (name, size, text("shared_cpu_list")) {
                sharers.entry((name, size)).or_default().insert(shared);
            }
        }
    }
    let cache = |((name, size_bytes), sharers): (_, BTreeSet<String>)| Cache {
        name,
        size_bytes,
        instances: count(sharers.len()),
    };
    sharers.into_iter().map(cache).collect()
}

fn name(level: &str, kind: &str) -> String {
    let suffix = match kind {
        "Data" => "d",
        "Instruction" => "i",
        _ => "",
    };
    format!("L{level}{suffix}")
}

/// Parses a size such as 32K; the kernel writes cache sizes in KiB.
fn size_bytes(text: &str) -> Option<u64> {
    Some(text.strip_suffix('K')?.parse::<u64>().ok()? * 1024)
}

fn idle_states(look: &Look) -> Vec<String> {
    let folder = format!("{FOLDER}/cpu0/cpuidle");
    let states = look.tree().names(&folder);
    let names = states
        .iter()
        .filter_map(|state| look.text(&format!("{folder}/{state}/name"), WHAT));
    names.collect()
}

fn available_clocksources(look: &Look) -> Vec<String> {
    let file = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    look.text(file, "clocksources")
        .map_or_else(Vec::new, |text| words(&text))
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
