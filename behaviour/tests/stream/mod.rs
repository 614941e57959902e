//! `linerate stream`, which measures how much a path carries, run as a user runs it.

mod hostile;
mod iperf3;
mod kept;
mod opened;
mod served;

use serde_json::Value;

use crate::common::{Folder, answer, assert_says, errors, linerate, refusal_of, words};

/// The JSON of `linerate stream` with these flags, run in a folder that is named after the test.
fn streams(test: &str, flags: &str) -> Value {
    let folder = Folder::new(test);
    let words = [&["stream", "--json", "--quiet"][..], &words(flags)].concat();
    serde_json::from_str(&answer(&mut linerate(&folder, &words))).unwrap()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn what_each_stream_carried_adds_up_each_way_and_each_interval() {
    let said = streams("stream-sums", "--both -P 2 --for 600ms --interval 200ms");
    assert_eq!(said["streams"].as_array().unwrap().len(), 4, "{said:#}");
    for way in said["ways"].as_array().unwrap() {
        let of_way = |value: &Value| value["way"] == way["way"];
        let streams = said["streams"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| of_way(one));
        let sum: f64 = streams.map(|one| number(&one["received_bytes"])).sum();
        assert_eq!(sum, number(&way["received_bytes"]), "{said:#}");
        assert!(number(&way["throughput_gbit_per_second"]) > 0.0, "{said:#}");
        assert!(number(&way["sent_bytes"]) >= sum, "{said:#}");
    }
    let up = |one: &&Value| one["way"] == "up";
    let intervals = said["intervals"].as_array().unwrap();
    assert!(intervals.len() >= 3, "{said:#}");
    let seconds: f64 = intervals.iter().map(|one| number(&one["seconds"])).sum();
    assert!(
        (seconds - number(&said["window_seconds"])).abs() < 1e-3,
        "{said:#}"
    );
    let readings = intervals
        .iter()
        .flat_map(|one| one["streams"].as_array().unwrap());
    let readings: Vec<&Value> = readings.filter(up).collect();
    let sent: f64 = readings.iter().map(|one| number(&one["bytes"])).sum();
    assert!(
        sent <= number(&said["ways"][0]["sent_bytes"]) && sent > 0.0,
        "{said:#}"
    );
    for reading in readings {
        assert!(
            number(&reading["tcp"]["congestion_window_bytes"]) > 0.0,
            "{reading}"
        );
        let busy = number(&reading["tcp"]["busy_seconds"]);
        assert!(
            number(&reading["tcp"]["rwnd_limited_seconds"]) <= busy,
            "{reading}"
        );
    }
    // Both ends are ours: the server's own readings came with its results.
    let of_server = said["server_intervals"].as_array().unwrap();
    assert!(
        !of_server.is_empty() && said["server_program"] == "linerate",
        "{said:#}"
    );
}

#[test]
fn every_way_of_sending_and_of_receiving_brings_what_was_sent() {
    for send in ["copy", "sendfile", "splice", "zerocopy"] {
        for receive in ["discard", "copy"] {
            let flags = format!("--send {send} --receive {receive} -n 30M --write-size 100000");
            let said = streams("stream-ways", &flags);
            let way = &said["ways"][0];
            assert_eq!(
                (&said["send"], &said["receive"]),
                (&send.into(), &receive.into())
            );
            for end in ["sent_bytes", "received_bytes"] {
                assert_eq!(
                    number(&way[end]),
                    31_457_280.0,
                    "{send} {receive}: {said:#}"
                );
            }
            let copied = &said["client"]["copied_share"];
            assert_eq!(copied.is_null(), send != "zerocopy", "{said:#}");
        }
    }
}

#[test]
fn a_given_number_of_bytes_can_come_from_the_server_too() {
    let said = streams("stream-bytes", "--reverse -n 10M -P 3");
    assert!(
        number(&said["ways"][0]["received_bytes"]) >= 10_485_760.0,
        "{said:#}"
    );
    assert_eq!(said["ways"][0]["way"], "down");
}

#[test]
fn the_last_block_of_what_is_counted_arrives_however_slowly_it_leaves() {
    for flags in [
        "-n 1M --rate 40M --write-size 300K",
        "-n 3M --buffer 20K",
        "-n 3M --buffer 20K --send splice -P 3",
        "-n 1M --both -P 2 --rate 40M --write-size 70K",
        "-n 1M --udp --rate 30M --write-size 16K",
    ] {
        let said = streams("stream-last", flags);
        let way = &said["ways"][0];
        for end in ["sent_bytes", "received_bytes"] {
            let wanted = if flags.contains("3M") { 3.0 } else { 1.0 } * 1_048_576.0;
            assert_eq!(number(&way[end]), wanted, "{flags}: {end} of {said:#}");
        }
    }
}

#[test]
fn a_rate_that_is_asked_for_is_held_and_is_the_limit() {
    for flags in [
        "--rate 80M",
        "--pace 80Mbit/s",
        "--udp --rate 80M",
        "--reverse --rate 80M",
    ] {
        let said = streams(
            "stream-rate",
            &format!("{flags} --for 1s --write-size 16000"),
        );
        let way = &said["ways"][0];
        let rate = number(&way["throughput_gbit_per_second"]);
        assert!((0.06..0.1).contains(&rate), "{flags}: {said:#}");
        if !flags.contains("--pace") {
            assert_eq!(way["limit"], "asked_rate", "{flags}: {said:#}");
        }
    }
}

#[test]
fn more_than_the_rate_that_was_asked_for_is_a_doubt() {
    let doubts = |rate: &str| {
        let said = streams("stream-exceeded", &format!("--rate {rate} --for 300ms"));
        said["doubts"].to_string().contains("rate_exceeded")
    };
    // A single write is more than that rate allows in the time.
    assert!(doubts("1"));
    assert!(!doubts("1T"));
}

#[test]
fn datagrams_are_told_by_their_numbers_and_none_is_lost_at_a_modest_rate() {
    let said = streams(
        "stream-udp",
        "--udp --both --rate 20M --write-size 1000 --for 500ms",
    );
    for stream in said["streams"].as_array().unwrap() {
        let datagrams = &stream["datagrams"];
        assert!(number(&datagrams["sent"]) > 100.0, "{said:#}");
        assert_eq!(
            (&datagrams["lost"], &datagrams["late"]),
            (&0.into(), &0.into()),
            "{said:#}"
        );
        assert!(
            stream["tcp"].is_null() && stream["retransmits"].is_null(),
            "{said:#}"
        );
    }
    for way in said["ways"].as_array().unwrap() {
        assert_eq!(way["late"], 0, "{said:#}");
        assert!(number(&way["jitter_ms"]) >= 0.0, "{said:#}");
    }
    let folder = Folder::new("stream-udp-page");
    let flags = words("stream -q -u -n 1M --rate 80M");
    let page = answer(&mut linerate(&folder, &flags));
    assert_says(&page, " lost; jitter ");
}

#[test]
fn connections_use_the_options_that_they_are_given() {
    let said = streams(
        "stream-options",
        "--congestion reno --mss 1000 --tos 16 --buffer 100K -n 1M",
    );
    let segments = number(&said["streams"][0]["tcp"]["segments"]);
    assert!(segments >= 1_048_576.0 / 1000.0, "{said:#}");
    assert_eq!(said["client_congestion"], "reno");
    assert_eq!(said["server_congestion"], "reno");
    assert!(
        number(&said["ways"][0]["received_bytes"]) == 1_048_576.0,
        "{said:#}"
    );
}

#[test]
fn latency_is_told_of_an_idle_path_and_of_a_loaded_one() {
    let said = streams("stream-latency", "--latency --for 1s");
    for state in ["idle", "loaded"] {
        let trips = &said["latency"][state];
        assert!(number(&trips["sent"]) > 50.0, "{said:#}");
        assert!(
            number(&trips["p50"]) > 0.0 && trips["p50"].as_f64() <= trips["most"].as_f64(),
            "{said:#}"
        );
    }
    assert!(streams("stream-no-latency", "-n 1M")["latency"].is_null());
}

#[test]
fn two_namespaces_of_our_own_carry_streams_both_ways() {
    crate::common::needs_root!();
    let said = streams("stream-netns", "--rig netns --both -P 2 --for 300ms");
    assert_eq!(said["place"], "netns");
    assert!(
        said["server_address"]
            .as_str()
            .unwrap()
            .starts_with("198.18."),
        "{said:#}"
    );
    for way in said["ways"].as_array().unwrap() {
        assert!(number(&way["received_bytes"]) > 0.0, "{said:#}");
    }
}

#[test]
fn the_page_names_the_limit_what_was_done_and_what_it_cost() {
    let folder = Folder::new("stream-page");
    let page = answer(&mut linerate(
        &folder,
        &words("stream -n 20M -P 2 --latency"),
    ));
    for piece in [
        "bit/s up over 2 streams of TCP; the limit was ",
        "by copy, 655,360 bytes at once; received by discard (MSG_TRUNC)",
        "both ends ",
        "CPU-s per GB",
        "fairness ",
        "  idle      ",
        "  loaded    ",
    ] {
        assert_says(&page, piece);
    }
}

#[test]
fn a_slow_path_is_told_in_a_unit_that_fits_it() {
    let folder = Folder::new("stream-slow");
    let flags = words("stream --udp --rate 500k --write-size 1000 --for 1s");
    let output = linerate(&folder, &flags).output().unwrap();
    let page = String::from_utf8_lossy(&output.stdout);
    assert_says(&page, "kbit/s up over 1 stream of UDP");
    assert_says(&page, " kB received in ");
    assert_says(&errors(&output), "kbit/s");
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    let folder = Folder::new("stream-refused");
    for (flags, why) in [
        ("198.51.100.7", "add --mine 198.51.100.7"),
        ("--write-size 2M", "writes have 1 to 1048576 bytes"),
        (
            "--udp --write-size 8",
            "datagrams, with their number, have 16 to 65507 bytes",
        ),
        ("--for 0", "leaves no time"),
        ("-n 0", "leaves nothing to send"),
        ("--interval 1ms", "50ms is the least"),
        ("--streams 129", "129 is not in 1..=128"),
        (
            "--congestion nonsense -n 1M",
            "the congestion control `nonsense`",
        ),
        ("127.0.0.1:1", "nothing accepts streams at 127.0.0.1:1"),
        ("--rig tunnel", "expected `loopback`, `netns` or `hosts`"),
        ("-u -Z", "cannot be used with"),
        ("-u --receive copy", "cannot be used with"),
        ("--listen 0 -P 2", "cannot be used with"),
        ("--listen 0 --for 1s", "cannot be used with"),
        ("--listen 0 --hosts none.toml", "cannot be used with"),
        ("--iperf3", "it goes with --listen or with a HOST"),
        ("--hosts none.toml", "none.toml cannot be read"),
        ("--rig netns --hosts none.toml", "--hosts names machines"),
        ("--mine here", "required arguments were not provided"),
        ("--buffer 0", "buffers have 1 to"),
        ("--buffer 1 -n 1M", "instead of 1;"),
        ("--buffer 512M -n 1M", "instead of 536870912;"),
        ("--pace 7", "8000 bit/s is the least"),
        ("--udp --pace 10M", "datagrams are held to a rate by --rate"),
        (
            "--congestion cu\nbic",
            "expected the name of a congestion control",
        ),
        ("unix:/tmp/none --udp", "--udp is about networks"),
        (
            "unix:/tmp/none",
            "nothing accepts streams at unix:/tmp/none",
        ),
        ("--listen 203.0.113.9:0", "this machine has no address"),
    ] {
        let said = refusal_of(&mut linerate(
            &folder,
            &[&["stream"][..], &words(flags)].concat(),
        ));
        assert_says(&said, why);
    }
}
