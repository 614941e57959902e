//! Observations of levers that are reported and never set, where `linerate doctor` has no check for
//! them.

use std::io;

use serde::Deserialize;

use super::{Obstacle, Site};

/// What can be observed.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Observation {
    /// The content of a kernel file.
    File(String),
    /// Whether the kernel has this version or a later one, and in words what else is needed.
    Since {
        linux: (u32, u32),
        words: String,
    },
    /// Fixed words, for a lever that leaves no trace on a machine.
    Words(String),
    IsolatedCpus,
    Preemption,
    MemoryNodes,
    ReceiveHash,
}

impl Observation {
    pub(super) fn look(&self, site: &Site) -> Result<String, Obstacle> {
        match self {
            Self::File(path) => file(site, path),
            Self::Since { linux, words } => since(site, *linux, words),
            Self::Words(words) => Ok(words.clone()),
            Self::IsolatedCpus => isolated_cpus(site),
            Self::Preemption => preemption(site),
            Self::MemoryNodes => memory_nodes(site),
            Self::ReceiveHash => receive_hash(site),
        }
    }
}

/// The CPUs that have been closed to ordinary work since boot.
fn isolated_cpus(site: &Site) -> Result<String, Obstacle> {
    let isolated = file(site, "sys/devices/system/cpu/isolated")?;
    let tickless = site.tree.text("sys/devices/system/cpu/nohz_full");
    // Some kernel versions write `(null)` for an empty list.
    let tickless =
        tickless.filter(|list| sys::cpu::parse_list(list).is_ok_and(|it| !it.is_empty()));
    let isolated = match isolated.as_str() {
        "" => "none".to_owned(),
        list => list.to_owned(),
    };
    Ok(match tickless {
        Some(list) => format!("{isolated}; without a tick {list}"),
        None => isolated,
    })
}

/// The preemption mode that the kernel was built or booted with, as far as it can be read.
fn preemption(site: &Site) -> Result<String, Obstacle> {
    // The file may be readable by root alone; then only the build can be seen.
    if let Some(modes) = site.tree.text("sys/kernel/debug/sched/preempt") {
        return Ok(modes);
    }
    let version = file(site, "proc/version")?;
    let is_word = |word: &&str| word.starts_with("PREEMPT");
    let word = version.split_whitespace().find(is_word);
    Ok(match word {
        Some("PREEMPT_DYNAMIC") => "chosen at boot (PREEMPT_DYNAMIC)".to_owned(),
        Some("PREEMPT_RT") => "real-time (PREEMPT_RT)".to_owned(),
        Some("PREEMPT") => "full, or lazy since Linux 6.13 (PREEMPT)".to_owned(),
        _ => "voluntary or none".to_owned(),
    })
}

/// The number of memory nodes, and the node that the device is near.
fn memory_nodes(site: &Site) -> Result<String, Obstacle> {
    let online = file(site, "sys/devices/system/node/online")?;
    if sys::cpu::parse_list(&online).is_ok_and(|nodes| nodes.len() == 1) {
        return Ok("one node".to_owned());
    }
    let of_device = site.device().ok().and_then(|device| {
        let node = format!("sys/class/net/{device}/device/numa_node");
        let node: u32 = site.tree.number(&node)?;
        Some(format!("; {device} is at node {node}"))
    });
    Ok(format!("nodes {online}{}", of_device.unwrap_or_default()))
}

/// How many entries of the device's receive hash table lead to each queue.
fn receive_hash(site: &Site) -> Result<String, Obstacle> {
    let device = site.device()?;
    let table = site.tree.drivers().receive_hash_table(device.as_str());
    match table {
        Ok(table) if !table.is_empty() => Ok(shares(&table)),
        Ok(_) => Err(none_of(device)),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Err(none_of(device)),
        Err(error) => Err(Obstacle::Absent(format!("{device}: {error}"))),
    }
}

fn none_of(device: &super::DeviceName) -> Obstacle {
    Obstacle::Absent(format!("the driver of {device} shows no such table"))
}

fn shares(table: &[u32]) -> String {
    let mut queues = table.to_vec();
    queues.sort_unstable();
    let of_each: Vec<String> = queues
        .chunk_by(|one, next| one == next)
        .map(|same| format!("{} to queue {}", same.len(), same[0]))
        .collect();
    format!("of {} entries {}", table.len(), of_each.join(", "))
}

/// Checks whether the kernel has a version that supports something.
fn since(site: &Site, wanted: (u32, u32), words: &str) -> Result<String, Obstacle> {
    let release = file(site, "proc/sys/kernel/osrelease")?;
    if version(&release).is_some_and(|version| version >= wanted) {
        return Ok(format!("Linux {release} has it; {words}"));
    }
    let (major, minor) = wanted;
    Err(Obstacle::Absent(format!(
        "it came with Linux {major}.{minor}, and this is {release}"
    )))
}

/// The first two numbers of a release such as 6.12.3-generic.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn file(site: &Site, file: &str) -> Result<String, Obstacle> {
    let absent = || Obstacle::Absent(format!("this kernel or machine has no /{file}"));
    site.tree.text(file).ok_or_else(absent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted::Planted;

    fn seen(test: &str, files: &[(&str, &str)], observation: &Observation) -> String {
        let machine = Planted::new(&format!("observation-{test}"), files);
        match observation.look(&Site::below(&machine.tree, None)) {
            Ok(words) => words,
            Err(obstacle) => obstacle.to_string(),
        }
    }

    #[test]
    fn cpus_that_are_kept_for_somebody_are_listed() {
        let isolated = "sys/devices/system/cpu/isolated";
        let tickless = "sys/devices/system/cpu/nohz_full";
        for (files, words) in [
            (
                &[(isolated, "2-3\n"), (tickless, "3\n")][..],
                "2-3; without a tick 3",
            ),
            (&[(isolated, "\n"), (tickless, "(null)\n")], "none"),
            (&[(isolated, "\n")], "none"),
        ] {
            assert_eq!(seen("isolated", files, &Observation::IsolatedCpus), words);
        }
    }

    #[test]
    fn the_way_of_preemption_is_told_by_root_or_by_the_build() {
        let version = |words| ("proc/version", words);
        let modes = ("sys/kernel/debug/sched/preempt", "none (voluntary) full\n");
        for (files, words) in [
            (
                &[modes, version("Linux 6.1 PREEMPT_DYNAMIC")][..],
                "none (voluntary) full",
            ),
            (
                &[version("Linux 6.1 #1 SMP PREEMPT_DYNAMIC Mon")],
                "chosen at boot (PREEMPT_DYNAMIC)",
            ),
            (&[version("Linux 6.1 #1 SMP Mon")], "voluntary or none"),
        ] {
            assert_eq!(seen("preemption", files, &Observation::Preemption), words);
        }
    }

    #[test]
    fn an_older_kernel_is_told_what_it_has_not() {
        let release = |release| [("proc/sys/kernel/osrelease", release)];
        let words = "the card must split headers".to_owned();
        let linux = (6, 15);
        let receive = Observation::Since { linux, words };
        let old = seen("old", &release("6.14.9-arch1\n"), &receive);
        assert_eq!(old, "it came with Linux 6.15, and this is 6.14.9-arch1");
        for new in ["6.15.0\n", "7.0-rc1\n"] {
            let words = seen("new", &release(new), &receive);
            assert!(words.starts_with("Linux "), "{words}");
        }
    }

    #[test]
    fn entries_of_a_hash_are_counted_by_their_queue() {
        let words = shares(&[0, 1, 0, 1, 0, 3]);
        assert_eq!(
            words,
            "of 6 entries 3 to queue 0, 2 to queue 1, 1 to queue 3"
        );
    }

    #[test]
    fn several_nodes_of_memory_are_told_from_one() {
        let online = |nodes| [("sys/devices/system/node/online", nodes)];
        assert_eq!(
            seen("one", &online("0\n"), &Observation::MemoryNodes),
            "one node"
        );
        assert_eq!(
            seen("two", &online("0-1\n"), &Observation::MemoryNodes),
            "nodes 0-1"
        );
    }
}
