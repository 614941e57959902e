//! Further ways of `linerate packets`: at a rate, with several sizes, as raw frames, and in search
//! of the highest rate.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Folder, linerate, refusal_of, words};
use crate::link::count;
use crate::link::packets::packets;

#[test]
fn at_a_rate_each_of_a_mix_has_its_time_and_none_is_lost_late_or_twice() {
    let flags = words("--rate 5k --arrivals poisson --size 64:7,576:4,1400:1 -n 1200");
    let said = packets("packets-rate", &flags);
    assert_eq!(count(&said, "/received"), 1200, "{said:#}");
    for nothing in ["/lost", "/out_of_order", "/duplicates"] {
        assert_eq!(count(&said, nothing), 0, "{said:#}");
    }
    let number = |place: &str| said.pointer(place).and_then(Value::as_f64).unwrap();
    let mean = f64::from(7 * 64 + 4 * 576 + 1400) / 12.0;
    assert!((number("/packet_bytes") - mean).abs() < 1e-9, "{said:#}");
    // 1,200 gaps of a Poisson process take a quarter of a second, give or take a tenth of it.
    let seconds = number("/window_seconds");
    assert!((0.15..2.0).contains(&seconds), "{said:#}");
    let [median, longest] = ["p50", "max"].map(|name| number(&format!("/one_way_us/{name}")));
    assert!(0.0 < median && median <= longest, "{said:#}");
    assert_eq!(said["outstanding_most"], Value::Null);
}

#[test]
fn raw_frames_come_whole_by_every_way_to_send() {
    for send in ["single", "batch:16", "segments:20", "ring:64"] {
        let flags = ["--raw", "-n", "8000", "--send", send];
        let said = packets("packets-raw", &flags);
        assert_eq!(said["path"], "raw", "{send}");
        assert_eq!(count(&said, "/sent"), 8000, "{send}: {said:#}");
        assert_eq!(count(&said, "/received"), 8000, "{send}: {said:#}");
        // Each frame arrives by itself, also where the kernel cut several from one send.
        assert_eq!(
            count(&said, "/receiver/largest_bytes"),
            64,
            "{send}: {said:#}"
        );
    }
    let mix = words("--raw --rate 4k --burst 4 --size 64:7,576:4,1514:1 -n 1200");
    let said = packets("packets-raw-mix", &mix);
    assert_eq!(count(&said, "/received"), 1200, "{said:#}");
    assert_eq!(count(&said, "/lost"), 0, "{said:#}");
}

#[test]
fn raw_frames_go_nowhere_but_between_namespaces_of_our_own() {
    let folder = Folder::new("packets-raw-where");
    for rig in ["loopback", "router", "hosts"] {
        let said = refusal_of(&mut linerate(&folder, &["packets", "--raw", "--rig", rig]));
        assert!(
            said.contains("only ever go between two namespaces of our own"),
            "{said}"
        );
    }
    // An order given directly to the process that would send, here on the machine itself, is
    // refused too, before a socket is opened.
    let order = r#"{"Frames":{"plan":{"path":{"Raw":{"passes_by_qdisc":false}},"sizes":"64","send":"single","receive":"ring","pace":null,"until":{"Count":1},"sender_cpu":0,"receiver_cpu":0},"receiver":[1,3]}}"#;
    let mut role = linerate(&folder, &["role"]);
    let mut role = role
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(role.stdin.take().unwrap(), "{order}").unwrap();
    let said = role.wait_with_output().unwrap().stdout;
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("is not on a host of a rig of ours"), "{said}");
}

#[test]
fn in_a_flood_the_loss_is_counted_and_a_sender_that_falls_behind_is_a_doubt() {
    // A higher rate than any kernel accepts packet by packet.
    let said = packets(
        "packets-flood",
        &["--rate", "50M", "-d", "200ms", "--size", "64"],
    );
    let mut doubts = said["doubts"].as_array().unwrap().iter();
    assert!(doubts.any(|doubt| doubt["kind"] == "behind"), "{said:#}");
    let [sent, received, lost] = ["/sent", "/received", "/lost"].map(|place| count(&said, place));
    assert_eq!(sent, received + lost, "{said:#}");
}

#[test]
fn the_highest_rate_without_loss_lies_where_blocks_held_and_others_did_not() {
    let said = packets("packets-find", &["--find", "--size", "64", "--loss", "1%"]);
    let highest = &said["highest"];
    let rate = |name: &str| highest[name].as_f64();
    assert!(highest["blocks"].as_u64().unwrap() > 10, "{said:#}");
    if let (Some(holds), Some(fails)) = (rate("holds_per_second"), rate("fails_per_second")) {
        assert!(holds < fails, "{said:#}");
    }
    assert!(said["lost_share"].as_f64().unwrap() <= 0.01, "{said:#}");
}
