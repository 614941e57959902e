//! Netfilter's connection tracking: how full its table is, and what it turned away.

use std::collections::BTreeMap;

use sys::kernel_file;

use super::counters::Counters;

/// Columns of `/proc/net/stat/nf_conntrack` that count losses; their position differs between
/// kernels.
const LOSSES: [&str; 3] = ["drop", "early_drop", "insert_failed"];

/// Losses since boot, in the network namespace of a process.
pub(super) fn lost(pid: u32) -> Counters {
    let all = sums(&text(pid)).into_iter();
    let lost = all.filter(|(name, _)| LOSSES.contains(&name.as_str()));
    lost.map(|(name, count)| (format!("conntrack.{name}"), count))
        .collect()
}

/// Entries in the table of that namespace, and the maximum for each namespace; empty where nothing
/// is tracked.
pub(super) fn filled(pid: u32) -> Counters {
    // The maximum is one for the whole machine, whoever reads it.
    let most = kernel_file::text("/proc/sys/net/netfilter/nf_conntrack_max");
    let most = most.and_then(|text| text.trim().parse().ok());
    let entries = entries(&text(pid)).filter(|count| *count > 0);
    let (Some(entries), Some(most)) = (entries, most) else {
        return Counters::new();
    };
    [("conntrack.entries", entries), ("conntrack.max", most)]
        .map(|(name, count)| (name.to_owned(), count))
        .into()
}

fn text(pid: u32) -> String {
    kernel_file::text(format!("/proc/{pid}/net/stat/nf_conntrack")).unwrap_or_default()
}

/// The sum of each column over all CPUs, by name; each CPU has one line of hexadecimal numbers.
fn sums(text: &str) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (name, value) in cells(text) {
        let sum: &mut u64 = all.entry(name.to_owned()).or_default();
        *sum = sum.saturating_add(value);
    }
    all
}

/// Entries in the table. There is one table, and the line of each CPU repeats its size.
fn entries(text: &str) -> Option<u64> {
    cells(text).find_map(|(name, value)| (name == "entries").then_some(value))
}

fn cells(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let mut lines = text.lines();
    let columns: Vec<&str> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    lines.flat_map(move |line| {
        let values = line
            .split_whitespace()
            .map(|value| u64::from_str_radix(value, 16));
        let named = columns.clone().into_iter().zip(values);
        named
            .filter_map(|(name, value)| Some((name, value.ok()?)))
            .collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX_4_19: &str = "\
entries  searched found new invalid ignore delete delete_list insert insert_failed drop early_drop icmp_error  expect_new expect_create expect_delete search_restart
000000c8  00000000 00000003 00000000 00000002 00000711 00000000 00000000 00000000 00000001 0000001f 00000002 00000000  00000000 00000000 00000000 0000000a
000000c8  00000000 00000000 00000000 00000000 0000041b 00000000 00000000 00000000 00000000 00000010 00000000 00000000  00000000 00000000 00000000 00000004
";
    const LINUX_6_18: &str = "\
entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error  expect_new expect_create expect_delete search_restart
00000000  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000  00000000 00000000 00000000 00000000
";

    #[test]
    fn columns_are_found_by_name_and_added_up_over_cpus_but_for_the_size_of_the_one_table() {
        let all = sums(LINUX_4_19);
        let lost = LOSSES.map(|name| all[name]);
        assert_eq!((lost, entries(LINUX_4_19)), ([47, 2, 1], Some(200)));
        assert_eq!(
            (sums(LINUX_6_18)["drop"], entries(LINUX_6_18)),
            (0, Some(0))
        );
    }

    #[test]
    fn what_is_no_such_file_is_nothing() {
        for text in ["", "entries drop", "entries drop\nzz\n"] {
            assert_eq!(
                (sums(text).get("drop"), entries(text)),
                (None, None),
                "{text}"
            );
        }
    }
}
