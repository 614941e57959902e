//! `linerate packets`: UDP from one CPU to another, by calls for one packet or for many.

use std::process::Command;

use serde_json::Value;

use crate::common::{Folder, answer, assert_says, errors, linerate, refusal_of, words};
use crate::link::count;

const SENDS: [(&str, u64); 3] = [("single", 1), ("batch:16", 16), ("segments:20", 20)];
const RECEIVES: [(&str, u64); 3] = [("single", 1), ("batch:40", 40), ("merged", 1)];

/// The JSON report of `linerate packets`, run in a folder that has the name of the test.
pub(super) fn packets(test: &str, flags: &[&str]) -> Value {
    let folder = Folder::new(test);
    let words = [&["packets", "--json"], flags].concat();
    serde_json::from_str(&answer(&mut linerate(&folder, &words))).unwrap()
}

#[test]
fn by_all_nine_ways_every_packet_comes_with_as_many_calls_as_were_asked_for() {
    for ((send, of_a_send), (receive, of_a_receive)) in SENDS
        .into_iter()
        .flat_map(|send| RECEIVES.map(|receive| (send, receive)))
    {
        let flags = ["-n", "8000", "--send", send, "--receive", receive];
        let said = packets("packets-ways", &flags);
        let ways = format!("{send} to {receive}: {said:#}");
        assert_eq!(count(&said, "/sent"), 8000, "{ways}");
        assert_eq!(count(&said, "/received"), 8000, "{ways}");
        for nothing in ["/lost", "/out_of_order"] {
            assert_eq!(count(&said, nothing), 0, "{ways}");
        }
        assert_eq!(count(&said, "/sender/calls"), 8000 / of_a_send, "{ways}");
        // What was sent in one piece stays one piece for a receiver that allows it.
        let is_merged = send == "segments:20" && receive == "merged";
        let of_a_receive = if is_merged { of_a_send } else { of_a_receive };
        let calls = count(&said, "/receiver/calls");
        assert_eq!(calls, 8000 / of_a_receive, "{ways}");
        let merged = if is_merged { 8000 } else { 0 };
        assert_eq!(count(&said, "/receiver/merged"), merged, "{ways}");
    }
}

#[test]
fn the_report_has_the_kernels_settings_for_segments_and_merging_and_the_largest_piece_received() {
    let said = |ways: &[&str]| {
        let flags = [&["-n", "1000", "--size", "1000"], ways].concat();
        packets("packets-held", &flags)
    };
    let merged = said(&["--send", "segments:50", "--receive", "merged"]);
    assert_eq!(merged["sender"]["segment_bytes"], 1000);
    assert_eq!(merged["receiver"]["may_merge"], true);
    assert_eq!(merged["receiver"]["largest_bytes"], 50_000);
    let single = said(&[]);
    assert_eq!(single["sender"]["segment_bytes"], Value::Null);
    assert_eq!(single["receiver"]["may_merge"], false);
    assert_eq!(single["receiver"]["largest_bytes"], 1000);
}

#[test]
fn a_receiver_that_is_not_given_what_its_calls_ask_for_is_a_doubt() {
    let short_calls = |send: &str, receive: &str| {
        let flags = [
            "-n",
            "640",
            "--size",
            "8",
            "--send",
            send,
            "--receive",
            receive,
        ];
        let said = packets("packets-short", &flags);
        let doubts = said["doubts"].as_array().unwrap().iter();
        let kinds = doubts.filter(|doubt| doubt["kind"] == "short_calls");
        kinds.map(|doubt| doubt["call"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(short_calls("batch:64", "batch:63"), [63]);
    assert_eq!(short_calls("batch:64", "batch:32"), [0; 0]);
    assert_eq!(short_calls("batch:64", "merged"), [0; 0]);
}

/// The number of calls with this name, from the table that `strace -c` prints.
fn calls(listing: &str, name: &str) -> u64 {
    let of_name = |line: &&str| line.split_whitespace().last() == Some(name);
    let row = listing.lines().find(of_name);
    // % time, seconds, usecs/call, calls
    row.map_or(0, |row| {
        row.split_whitespace().nth(3).unwrap().parse().unwrap()
    })
}

#[test]
fn the_calls_that_it_tells_are_those_that_strace_counts() {
    for (send, receive, names) in [
        ("single", "single", ["sendto", "recvfrom"]),
        ("batch:16", "batch:8", ["sendmmsg", "recvmmsg"]),
        ("segments:16", "merged", ["sendto", "recvmsg"]),
    ] {
        let traced = Command::new("strace")
            .args(words(
                "-f -c -e trace=sendto,sendmsg,sendmmsg,recvfrom,recvmsg,recvmmsg",
            ))
            .args([crate::common::program(), "packets", "--json", "-n", "3200"])
            .args(["--send", send, "--receive", receive])
            .output()
            .unwrap();
        let listing = errors(&traced);
        let said: Value = serde_json::from_slice(&traced.stdout)
            .unwrap_or_else(|error| panic!("{error}: {listing}"));
        let told = ["/sender/calls", "/receiver/calls"].map(|place| count(&said, place));
        assert_eq!(told, names.map(|name| calls(&listing, name)), "{listing}");
    }
}

#[test]
fn packets_of_any_size_come_and_the_figures_hold_together() {
    for (size, send) in [
        ("8", "batch:200"),
        ("1472", "segments:2"),
        ("65507", "single"),
    ] {
        let flags = ["-d", "50ms", "--size", size, "--send", send];
        let said = packets("packets-sizes", &flags);
        let number = |place: &str| said.pointer(place).and_then(Value::as_f64).unwrap();
        assert_eq!(number("/lost"), 0.0, "{said:#}");
        let gigabytes = number("/received") * number("/packet_bytes") / 1e9;
        let gbit = number("/throughput_gbit_per_second") * number("/window_seconds");
        assert!((gbit / 8.0 / gigabytes - 1.0).abs() < 1e-6, "{said:#}");
        let ends = ["sender", "receiver"];
        let of_ends = ends.map(|end| number(&format!("/{end}/cpu_seconds_per_gb")));
        let both = number("/cpu_seconds_per_gb");
        assert!(
            (both / of_ends.iter().sum::<f64>() - 1.0).abs() < 1e-6,
            "{said:#}"
        );
        for end in ends {
            let per_gb = number(&format!("/{end}/cpu_seconds_per_gb"));
            let per_million = number(&format!("/{end}/cpu_seconds_per_million"));
            let millions = number("/received") / 1e6;
            let same = per_gb * gigabytes / (per_million * millions);
            assert!((same - 1.0).abs() < 1e-6, "{end}: {said:#}");
        }
    }
}

#[test]
fn a_person_is_told_the_rate_the_loss_the_cost_and_what_was_seen() {
    let folder = Folder::new("packets-words");
    let words = words("packets -n 3200 --send segments:32 --receive merged");
    let said = answer(&mut linerate(&folder, &words));
    for piece in [
        "packets/s of 1,200 bytes",
        "all 3,200 that were sent came.",
        "segments:32 on CPU",
        "32.0 packets per call",
        "the kernel holds UDP_SEGMENT 1,200",
        "the kernel holds UDP_GRO on; it merged 3,200 packets, up to 38,400 bytes in one piece",
    ] {
        assert!(said.contains(piece), "{piece} is not in\n{said}");
    }
    let both = said
        .lines()
        .find_map(|line| line.strip_prefix("  both ends  "));
    let per_gb = both.and_then(|words| words.strip_suffix(" CPU-s per GB"));
    let per_gb: f64 = per_gb.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
    assert!(per_gb > 0.0, "{said}");
}

#[test]
fn where_nothing_was_merged_segments_are_missed_only_if_none_were_sent() {
    let folder = Folder::new("packets-unmerged");
    for (count, send, merged) in [
        (
            "10",
            "single",
            "it merged none, as none were sent as segments\n",
        ),
        // One packet alone, with nothing to merge it with.
        ("1", "segments:2", "it merged none\n"),
    ] {
        let words = [
            "packets",
            "-n",
            count,
            "--send",
            send,
            "--receive",
            "merged",
        ];
        let said = answer(&mut linerate(&folder, &words));
        assert!(said.contains(merged), "{send}: {said}");
    }
}

#[test]
fn what_cannot_be_sent_or_received_so_is_refused_by_name() {
    let folder = Folder::new("packets-refused");
    for (flags, why) in [
        (
            &["--size", "7"][..],
            "ask for 8, which its number takes, to 65507",
        ),
        (
            &["--size", "65508"],
            "a packet of 65508 bytes cannot be sent",
        ),
        (&["--send", "merged"], "`merged` is no way to send"),
        (&["--send", "batch:1025"], "`batch:N` with N from 2 to 1024"),
        (
            &["--send", "segments:129"],
            "`segments:N` with N from 2 to 128",
        ),
        (
            &["--receive", "segments:2"],
            "`segments:2` is no way to receive",
        ),
        (
            &["--send", "segments:55"],
            "do not fit one send, which carries 65507 bytes; 54 of them would",
        ),
        (&["--count", "0"], "0 is not in 1.."),
        (
            &["--size", "0"],
            "ask for 8, which its number takes, to 65507",
        ),
        (&["--size", "64:0"], "`64:0` is no size"),
        (
            &["--size", "64,1400", "--send", "segments:4"],
            "segments of one send have one size",
        ),
        (&["--rate", "0"], "`0` is no rate from 1"),
        (
            &["--rate", "100", "--size", "8"],
            "paced packets have at least 16 bytes",
        ),
        (&["--burst", "4"], "give --rate or --find too"),
        (&["--send", "ring:64"], "`ring:64` is no way for UDP"),
        (
            &["--rig", "netns"],
            "UDP goes over loopback or between your `hosts`",
        ),
        (
            &["--raw", "--size", "7"],
            "ask for 60, the shortest of Ethernet",
        ),
        (
            &["--raw", "--size", "1515"],
            "to 1514, which the rig's devices take",
        ),
        (&["--duration", "25h"], "at most a day"),
        (&["-n", "1", "-d", "1s"], "cannot be used with"),
    ] {
        let said = refusal_of(&mut linerate(&folder, &[&["packets"], flags].concat()));
        assert!(said.contains(why), "{flags:?}: {said}");
    }
}

/// `linerate packets` in a network namespace of its own, after a line of shell there.
fn behind(line: &str, flags: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    if sys::user::ours() != 0 {
        command.arg("--map-root-user");
    }
    let script = format!("{line} && exec timeout 60 \"$0\" packets \"$@\"");
    command.args(["--net", "--mount", "sh", "-c", &script]);
    command.arg(crate::common::program()).args(flags);
    command
}

/// `linerate packets` behind a firewall with this rule for incoming UDP.
fn behind_a_rule(rule: &str, flags: &[&str]) -> Command {
    let line = format!(
        "ip link set lo up && nft 'table inet filter {{ chain input {{ type filter hook input \
         priority 0; meta l4proto udp {rule}; }}; }}'"
    );
    behind(&line, flags)
}

#[test]
fn where_nothing_comes_it_ends_with_the_reason_before_all_is_sent() {
    for (rule, flags) in [
        ("drop", &["-n", "10"][..]),
        // To wait for all of these would take hours.
        (
            "quota over 200000 bytes drop",
            &["-n", "10000000", "--json"],
        ),
    ] {
        let output = behind_a_rule(rule, flags).output().unwrap();
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{rule}: {said}");
        assert!(
            said.contains("packets in a row arrived: does a firewall drop UDP"),
            "{rule}: {said}"
        );
        assert_eq!(output.stdout, b"", "{rule}");
    }
}

#[test]
fn what_is_lost_is_counted_and_a_doubt() {
    let flags = ["-n", "100", "--json"];
    let mut command = behind_a_rule("numgen inc mod 10 0 drop", &flags);
    let said: Value = serde_json::from_str(&answer(&mut command)).unwrap();
    assert_eq!(count(&said, "/lost"), 10);
    let mut doubts = said["doubts"].as_array().unwrap().iter();
    let lost = doubts.find(|doubt| doubt["kind"] == "lost").unwrap();
    assert_eq!(lost["lost_share"], 0.1);
    let words = "10 % of the packets were lost";
    assert!(lost["what"].as_str().unwrap().starts_with(words), "{lost}");
}

#[test]
fn what_is_delivered_on_other_cpus_is_a_doubt() {
    crate::common::needs_root!();
    let steered = "mount -t sysfs none /sys && ip link set lo up && \
                   echo 1 > /sys/class/net/lo/queues/rx-0/rps_cpus";
    let said = answer(&mut behind(steered, &["-n", "100"]));
    let words = "doubt: receive packet steering hands packets that arrive on lo to the CPUs";
    assert_says(&said, words);
}

#[test]
fn segments_that_the_path_does_not_carry_are_refused_with_the_reason() {
    let flags = ["-n", "10", "--size", "1400", "--send", "segments:2"];
    let said = refusal_of(&mut behind("ip link set lo up mtu 1400", &flags));
    let why = "does not take 2 segments of 1400 bytes in one send";
    assert_says(&said, why);
}

#[test]
fn every_lever_that_is_tested_with_packets_is_told_to_be_a_flag_of_them() {
    let folder = Folder::new("packets-lever");
    let list = answer(&mut linerate(&folder, &["levers", "list", "--json"]));
    let list: Value = serde_json::from_str(&list).unwrap();
    let is_tested = |lever: &Value, bench: &str| {
        let benches = lever["tested_in"].as_array().unwrap();
        benches.iter().any(|found| found == bench)
    };
    let levers = list["levers"].as_array().unwrap().iter();
    let names: Vec<&Value> = levers
        .filter(|lever| is_tested(lever, "packets"))
        .map(|lever| &lever["name"])
        .collect();
    assert_eq!(names, ["udp-batches"]);
    let by = "for our own network tester: set when it is started (linerate packets --send HOW --receive HOW)";
    for words in [
        &["levers", "apply", "udp-batches=segments:32"][..],
        &["levers", "run", "udp-batches=segments:32", "--", "true"],
    ] {
        let output = linerate(&folder, words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = format!(
            "{}{}",
            errors(&output),
            String::from_utf8_lossy(&output.stdout)
        );
        assert!(said.contains(by), "{words:?}: {said}");
    }
}
