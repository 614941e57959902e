//! iperf3 itself at the other end, in both roles, with as many combinations of its flags as matter.

use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::number;
use crate::common::listener::Listener;
use crate::common::processes::Ours;
use crate::common::{Folder, errors, linerate, words};

const COMBINATIONS: [&str; 28] = [
    "-t 1",
    "-t 1 -R",
    "-t 1 --bidir",
    "-t 1 -P 3",
    "-t 1 -P 3 -R",
    "-t 1 -P 2 --bidir",
    "-t 1 -u",
    "-t 1 -u -R",
    "-t 1 -u --bidir",
    "-t 1 -u -P 3 -b 20M",
    "-t 1 -u -b 50M -l 1000",
    "-t 1 -u -R -b 50M -l 500",
    "-t 1 -b 200M",
    "-t 1 -b 100M -R",
    "-t 1 -w 128K",
    "-t 1 -w 256K -R",
    "-t 1 -l 16K",
    "-t 1 -l 8K -R",
    "-n 20M",
    "-n 20M -R",
    "-t 1 -C reno",
    "-t 1 -C cubic -R",
    "-t 1 -Z",
    "-t 1 -Z -R",
    "-t 1 -Z -P 2 --bidir",
    "-n 5M -P 4",
    "-u -n 1M -b 50M",
    "-t 1 -C reno -w 64K -l 4K -P 2 --bidir -b 10M",
];
/// How many combinations run side by side.
const AT_ONCE: usize = 7;

/// Runs all combinations, [`AT_ONCE`] at a time.
fn each(run: impl Fn(&str) + Sync) {
    for some in COMBINATIONS.chunks(AT_ONCE) {
        std::thread::scope(|scope| {
            for flags in some {
                scope.spawn(|| run(flags));
            }
        });
    }
}

fn json(output: &Output, flags: &str) -> Value {
    let parsed = serde_json::from_slice(&output.stdout);
    parsed.unwrap_or_else(|error| panic!("{flags}: {error}: {}", errors(output)))
}

/// Checks the figures that scripts read from the JSON of iperf3.
fn check(said: &Value, flags: &str) {
    assert!(said["error"].is_null(), "{flags}: {said:#}");
    let mut sums = vec!["sum_sent", "sum_received"];
    if flags.contains("--bidir") {
        sums.extend(["sum_sent_bidir_reverse", "sum_received_bidir_reverse"]);
    }
    for name in sums {
        let sum = &said["end"][name];
        assert!(number(&sum["bytes"]) > 0.0, "{flags}: {name} in {said:#}");
        assert!(
            number(&sum["bits_per_second"]) > 0.0,
            "{flags}: {name} in {said:#}"
        );
    }
    let streams = flags
        .split("-P ")
        .nth(1)
        .map_or(1, |rest| rest[..1].parse().unwrap());
    let both = if flags.contains("--bidir") { 2 } else { 1 };
    let listed = said["end"]["streams"].as_array().unwrap().len();
    assert_eq!(listed, streams * both, "{flags}: {said:#}");
    let connected = said["start"]["connected"].as_array().unwrap().len();
    assert_eq!(connected, listed, "{flags}: {said:#}");
    if let Some(rate) = flags.split("-b ").nth(1).filter(|_| flags.contains("-t 1")) {
        let megabits: f64 = rate.split('M').next().unwrap().parse().unwrap();
        let seen = number(&said["end"]["sum_received"]["bits_per_second"]) / 1e6;
        let wanted = megabits * streams as f64;
        // A rate that is ignored does not come out like this: the default is 1 Mbit/s for
        // datagrams, and all that the path carries for TCP. A busy machine may well fall behind.
        assert!(
            (wanted * 0.1..wanted * 1.2).contains(&seen),
            "{flags}: {seen} Mbit/s"
        );
    }
}

#[test]
fn a_client_of_ours_does_with_a_server_of_iperf3_what_a_client_of_iperf3_would() {
    each(|flags| {
        let folder = Folder::new("stream-to-iperf3");
        let flags_of_ours = words(flags);
        let (mut server, mut address) = iperf3_server();
        let mut output = None;
        // Tries until the server listens.
        sys::clock::wait_until(Duration::from_secs(20), || {
            let to = ["stream", &address, "-q", "--iperf3", "--iperf3-json"];
            let mut client = linerate(&folder, &[&to[..], &flags_of_ours].concat());
            let attempt = client.output().unwrap();
            let is_there = !errors(&attempt).contains("nothing accepts streams");
            output = Some(attempt);
            // Another program may have been given its port in between.
            if !is_there && server.try_wait().unwrap().is_some() {
                (server, address) = iperf3_server();
            }
            is_there
        });
        check(&json(&output.unwrap(), flags), flags);
    });
}

#[test]
fn a_client_of_iperf3_does_with_a_server_of_ours_what_it_would_with_its_own() {
    let listener = Listener::start(&["--iperf3"]);
    each(|flags| {
        let client = Command::new("iperf3")
            .args(["-c", "127.0.0.1", "-p", listener.port(), "-J"])
            .args(words(flags))
            .output();
        check(&json(&client.unwrap(), flags), flags);
    });
}

#[test]
fn a_client_of_iperf3_that_is_refused_says_so_in_its_own_words() {
    let mut listener = Listener::start(&[]);
    let client = Command::new("iperf3")
        .args(["-c", "127.0.0.1", "-p", listener.port()])
        .output();
    let said = errors(&client.unwrap());
    assert!(said.contains("authorization"), "{said}");
    assert!(listener.line().contains("--iperf3"));
}

#[test]
fn a_client_of_iperf3_may_count_blocks_and_send_without_delay_but_not_omit_seconds() {
    let mut listener = Listener::start(&["--iperf3"]);
    let client = |flags: &str| {
        Command::new("iperf3")
            .args(["-c", "127.0.0.1", "-p", listener.port(), "-J"])
            .args(words(flags))
            .output()
            .unwrap()
    };
    for flags in [
        "-k 100 -l 16K",
        "-k 100 -l 16K -P 2 -b 50M",
        "-u -k 100 -l 1000 -b 20M",
    ] {
        let said = json(&client(flags), flags);
        let wanted = if flags.contains("-u") {
            100_000.0
        } else {
            1_638_400.0
        };
        let received = number(&said["end"]["sum_received"]["bytes"]);
        assert!(received >= wanted, "{flags}: {said:#}");
    }
    check(&json(&client("-N -n 1M"), "-N -n 1M"), "-N -n 1M");
    let refused = json(&client("-t 1 -O 1"), "-O 1");
    let error = refused["error"].as_str().unwrap();
    assert!(error.contains("omit"), "{error}");
    let lines = [(); 5].map(|()| listener.line());
    assert!(lines[4].contains("`omit`"), "{lines:?}");
}

#[test]
fn the_reported_cpu_time_has_user_and_system_parts_that_add_up_to_the_total() {
    let listener = Listener::start(&[]);
    let folder = Folder::new("stream-cpu-of-iperf3");
    // The writes are so small that our own code takes part of the CPU time.
    let flags = format!("stream {} -q --iperf3-json -t 1 -l 32", listener.address);
    let said = json(&linerate(&folder, &words(&flags)).output().unwrap(), &flags);
    let cpu = &said["end"]["cpu_utilization_percent"];
    for end in ["host", "remote"] {
        let of = |kind: &str| number(&cpu[format!("{end}_{kind}")]);
        let (both, total) = (of("user") + of("system"), of("total"));
        assert!(total > 0.0 && (both / total - 1.0).abs() < 0.2, "{said:#}");
    }
    assert!(
        number(&cpu["host_user"]) > 0.0 && number(&cpu["host_system"]) > 0.0,
        "{said:#}"
    );
    let sender = &said["end"]["streams"][0]["sender"];
    let least = number(&sender["min_rtt"]);
    assert!((least..=number(&sender["max_rtt"])).contains(&number(&sender["mean_rtt"])));
}

#[test]
fn what_scripts_read_of_iperf3_stands_where_iperf3_has_it() {
    let listener = Listener::start(&[]);
    let folder = Folder::new("stream-shape-of-iperf3");
    let said = |flags: &str| {
        let flags = format!("stream {} -q --iperf3-json -t 1 {flags}", listener.address);
        json(&linerate(&folder, &words(&flags)).output().unwrap(), &flags)
    };
    let tcp = said("-P 2");
    let interval = &tcp["intervals"][0];
    let streams = interval["streams"].as_array().unwrap().iter();
    let again: f64 = streams.map(|one| number(&one["retransmits"])).sum();
    assert_eq!(number(&interval["sum"]["retransmits"]), again, "{tcp:#}");
    let time = tcp["start"]["timestamp"]["time"].as_str().unwrap();
    let time = httpdate::parse_http_date(time).unwrap();
    let since = time.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(tcp["start"]["timestamp"]["timesecs"], since.as_secs());
    for (flags, is_sender) in [("-u -b 5M -l 1000", true), ("-u -b 5M -l 1000 -R", false)] {
        let udp = said(flags);
        let end = &udp["end"];
        assert_eq!(end["sum_sent"]["sender"], true, "{flags}: {udp:#}");
        assert_eq!(end["sum_received"]["sender"], false, "{flags}: {udp:#}");
        assert_eq!(end["sum"]["sender"], is_sender, "{flags}: {udp:#}");
        assert_eq!(end["sum"]["bytes"], end["sum_sent"]["bytes"], "{udp:#}");
        assert_eq!(end["sum_sent"]["lost_packets"], 0, "{udp:#}");
        assert_eq!(
            end["sum"]["jitter_ms"], end["sum_received"]["jitter_ms"],
            "{udp:#}"
        );
        let sum = &udp["intervals"][0]["sum"];
        let packets = number(&sum["bytes"]) / 1000.0;
        let told = sum.get("packets").map(number);
        assert_eq!(told, is_sender.then_some(packets), "{flags}: {udp:#}");
    }
}

/// A server of iperf3 that serves once, and its address: a port that was free a moment ago.
fn iperf3_server() -> (Ours, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let server = Command::new("iperf3")
        .args(["-s", "-1", "-p", &address.port().to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    (Ours(server.unwrap()), address.to_string())
}
