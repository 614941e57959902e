//! Packets between two machines of the hosts file.

use serde_json::Value;

use crate::common::{assert_says, refusal_of, words};
use crate::hosts::site::{Host, Site};
use crate::hosts::streams::assert_nothing_is_left;

#[test]
fn packets_go_by_a_clock_between_two_machines_which_have_no_clock_in_common() {
    crate::common::needs_root!();
    let site = Site::new("far-packets", Host::Usual);
    let flags =
        "packets --rig hosts --rate 5k -n 2000 --size 64:7,576:4,1400:1 --send batch:4 --json";
    let output = site.linerate(&words(flags)).output().unwrap();
    // 2,000 packets of 346 bytes in the mean.
    let notes = String::from_utf8_lossy(&output.stderr);
    assert_says(&notes, "sends up to 0.000692 GB: at list prices");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["place"], "hosts");
    assert_eq!(said["sent"], 2000, "{said:#}");
    let count = |name: &str| said[name].as_u64().unwrap();
    assert_eq!(count("received") + count("lost"), 2000, "{said:#}");
    assert!(count("received") > 0, "{said:#}");
    assert_eq!(said["one_way_us"], Value::Null);
    assert!(said["sent_late_us"].is_object(), "{said:#}");
    assert_nothing_is_left(&site);
}

#[test]
fn what_packets_between_machines_need_is_said_before_anything_is_sent() {
    crate::common::needs_root!();
    let site = Site::new("no-far-packets", Host::Usual);
    for (flags, why) in [
        ("--rig hosts", "give --rate or --find"),
        ("--raw --rig hosts", "between two namespaces of our own"),
        ("--rig router", "not on the rig `router`"),
        ("--rig loopback --hosts none.toml", "--hosts names machines"),
        ("--rate 1k --hosts none.toml", "none.toml cannot be read"),
        ("--rate 1k --size 8 --rig hosts", "have at least 16 bytes"),
    ] {
        let said = refusal_of(&mut site.linerate(&words(&format!("packets {flags}"))));
        assert_says(&said, why);
    }
    // A firewall that lets SSH through, but no UDP.
    let drop = [
        "sh",
        "-c",
        "PATH=$PATH:/usr/sbin nft add table ip t '{ chain c { type filter hook input priority 0; ip protocol udp drop; }; }'",
    ];
    assert!(site.on("server", &drop).status().unwrap().success());
    let said = refusal_of(&mut site.linerate(&words("packets --rate 1k --rig hosts")));
    assert_says(&said, "did not answer, and no packet was sent");
}
