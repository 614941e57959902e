//! Streams between two machines of the hosts file.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use serde_json::Value;

use crate::common::processes::{Ours, wait_for};
use crate::common::{answer, assert_says, refusal_of, words};
use crate::hosts::site::{Host, Site, signal};

const BETWEEN: [&str; 3] = ["stream", "--rig", "hosts"];

pub(crate) fn assert_nothing_is_left(site: &Site) {
    for host in ["client", "server"] {
        wait_for("its end has gone", || site.at_work(host).is_empty());
    }
}

#[test]
fn streams_go_between_two_machines_either_way_and_leave_no_process_there() {
    crate::common::needs_root!();
    let site = Site::new("far-streams", Host::Usual);
    let flags = ["--both", "--latency", "--for", "1s", "--json"];
    let said = answer(&mut site.linerate(&[&BETWEEN[..], &flags].concat()));
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["place"], "hosts");
    assert_eq!(said["machine_cpu_seconds_per_gb"], Value::Null);
    for way in said["ways"].as_array().unwrap() {
        assert!(way["received_bytes"].as_u64().unwrap() > 0, "{way}");
    }
    assert!(said["latency"].is_object(), "{said}");
    let said = refusal_of(&mut site.linerate(&[&BETWEEN[..], &["--out", "kept"]].concat()));
    assert_says(&said, "neither end is here");
    assert_nothing_is_left(&site);
}

#[test]
fn stopped_streams_report_what_was_carried_until_then() {
    crate::common::needs_root!();
    let site = Site::new("stopped-streams", Host::Usual);
    let notes = site.folder.path().join("notes");
    let mut run = site.linerate(&words("stream --rig hosts --for 1h --interval 100ms"));
    run.stdout(Stdio::piped())
        .stderr(File::create(&notes).unwrap());
    let mut child = Ours(run.spawn().unwrap());
    wait_for("an interval is told", || {
        site.folder.text("notes").contains(" s  up ")
    });
    signal("INT", child.id());
    let mut said = String::new();
    let stdout = child.stdout.take();
    stdout.unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_says(&said, "bit/s up");
    assert_nothing_is_left(&site);
}

#[test]
fn killed_streams_and_packets_end_on_both_machines_and_an_unknown_one_is_refused() {
    crate::common::needs_root!();
    let site = Site::new("killed-streams", Host::Usual);
    for flags in [
        "stream --rig hosts --for 1h",
        "packets --rig hosts --rate 1k --duration 1h",
    ] {
        let mut run = site.linerate(&words(flags));
        let child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = Ours(child.unwrap());
        wait_for("both ends are at work", || {
            ["client", "server"]
                .iter()
                .all(|host| !site.at_work(host).is_empty())
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert_nothing_is_left(&site);
    }
    site.know(&["client"]);
    let said = refusal_of(&mut site.linerate(&BETWEEN));
    assert_says(&said, "Host key verification failed");
}
