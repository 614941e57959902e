//! An undo writes only to the network namespace and the device whose value was changed.

use serde_json::{Value, json};

use crate::common::{assert_says, errors, refused};
use crate::levers::sandbox::Sandbox;

const JOURNAL: &str = "/var/lib/linerate/journal.jsonl";

/// The fate of each knob that an undo in the sandbox reports, and its exit code.
fn undone(sandbox: &Sandbox, words: &[&str]) -> (Vec<Value>, Option<i32>) {
    let linerate = [crate::common::program(), "levers", "undo", "--json"];
    let output = sandbox
        .command(&[words, &linerate].concat())
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", errors(&output)));
    let knobs = told["undone"].as_array().unwrap().iter();
    let knobs = knobs.flat_map(|undone| undone["knobs"].as_array().unwrap().clone());
    (knobs.collect(), output.status.code())
}

#[test]
fn a_setting_of_the_host_that_a_namespace_does_not_show_is_left_to_an_undo_on_the_host() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["slow-start-after-idle"]);
    let text = sandbox.prints(&["cat", JOURNAL]);
    let mut entry: Value = serde_json::from_str(text.trim()).unwrap();
    let host = entry["namespace"].as_u64().unwrap() + 1;
    entry["namespace"] = json!(host);
    let step = json!({ "knob": { "sysctl": "net.core.busy_poll" }, "old": 0, "new": 50 });
    entry["change"]["lever"] = json!({ "lever": "busy-poll", "steps": [step] });
    sandbox.writes(JOURNAL, &entry.to_string());
    let (knobs, code) = undone(&sandbox, &[]);
    assert_eq!(
        (knobs[0]["fate"].as_str(), code),
        (Some("elsewhere"), Some(3))
    );
    let words = knobs[0]["words"].as_str().unwrap();
    assert_says(words, &format!("network namespace {host}"));
    assert_eq!(sandbox.journal().len(), 1);
}

#[test]
fn an_undo_that_is_shown_the_devices_of_another_namespace_touches_none() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let mtu = "/sys/class/net/lo/mtu";
    let before = sandbox.holds(mtu);
    let set = sandbox.levers(&["apply", "mtu=1400", "--device", "lo"]);
    assert!(set.status.success(), "{}", errors(&set));
    sandbox.levers(&["confirm"]);
    // Under the `/sys` that the sandbox has mounted lies that of the machine.
    let unshown = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        "umount /sys && exec \"$@\"",
        "sh",
    ];
    let (knobs, code) = undone(&sandbox, &unshown);
    assert_eq!(
        (knobs[0]["fate"].as_str(), code),
        (Some("refused"), Some(3))
    );
    let words = knobs[0]["words"].as_str().unwrap();
    assert_says(words, "the devices of another network namespace");
    assert_eq!(
        (sandbox.holds(mtu).as_str(), sandbox.journal().len()),
        ("1400", 1)
    );
    assert_eq!(undone(&sandbox, &[]).0[0]["fate"], "put_back");
    assert_eq!(sandbox.holds(mtu), before);
}

#[test]
fn a_device_that_was_renamed_is_put_back_under_its_new_name() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["mtu=1400"]);
    sandbox.levers(&["confirm"]);
    let rename = "ip link set bench0 down && ip link set bench0 name other0";
    sandbox.prints(&["sh", "-c", rename]);
    assert_eq!(sandbox.journal()[0]["steps"][0]["now"], "1400");
    let (knobs, code) = undone(&sandbox, &[]);
    assert_eq!(
        (knobs[0]["fate"].as_str(), code),
        (Some("put_back"), Some(0))
    );
    assert_eq!(knobs[0]["knob"], "/sys/class/net/other0/mtu");
    assert_eq!(sandbox.holds("/sys/class/net/other0/mtu"), "1500");
}

#[test]
fn a_device_that_took_the_name_of_one_that_is_gone_is_left_alone() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["mtu=1400"]);
    sandbox.levers(&["confirm"]);
    let replace = "ip link del bench0 && ip link add bench0 mtu 1400 type veth";
    sandbox.prints(&["sh", "-c", replace]);
    assert!(sandbox.journal()[0]["steps"][0]["now"].is_null());
    let (knobs, code) = undone(&sandbox, &[]);
    assert_eq!((knobs[0]["fate"].as_str(), code), (Some("gone"), Some(0)));
    assert_eq!(sandbox.holds("/sys/class/net/bench0/mtu"), "1400");
    assert!(sandbox.journal().is_empty());
}

#[test]
fn a_number_that_the_kernel_would_replace_by_another_is_refused() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let before = sandbox.state();
    let output = sandbox.levers(&["apply", "receive-flow-count=1000", "--device", "bench0"]);
    let said = refused(&output);
    assert_says(&said, "expected 0, or a power of two");
    assert_eq!(sandbox.state(), before);
    assert!(sandbox.journal().is_empty());
}

#[test]
fn cpus_may_be_typed_in_any_order() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let before = sandbox.state();
    let set = sandbox.apply(&["receive-packet-steering=1,0,1"]);
    assert_eq!(set["steps"][0]["new"], "0-1");
    sandbox.undo(&[]);
    assert_eq!(sandbox.state(), before);
}

#[test]
fn what_is_set_in_one_namespace_is_not_told_as_set_in_another() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["slow-start-after-idle"]);
    let elsewhere = |words: &[&str]| -> Value {
        let linerate = ["unshare", "--net", crate::common::program(), "levers"];
        let told = sandbox.prints(&[&linerate, words, &["--json"]].concat());
        serde_json::from_str(&told).unwrap()
    };
    let status = elsewhere(&["status", "slow-start-after-idle"]);
    assert_eq!(status["levers"][0]["now"], "1");
    assert!(status["levers"][0]["set_in"].is_null(), "{status}");
    let journal = elsewhere(&["journal"]);
    assert!(
        journal["entries"][0]["steps"][0]["now"].is_null(),
        "{journal}"
    );
    let here = sandbox.status("slow-start-after-idle");
    assert_eq!(here["levers"][0]["set_in"], sandbox.journal()[0]["entry"]);
}
