//! What a driver makes of the value that it is given, and what an undo could not bring back.

use crate::common::{assert_says, errors, refused};
use crate::levers::sandbox::Sandbox;

const QUEUE_MASK: &str = "/sys/class/net/bench0/queues/rx-1/rps_cpus";

#[test]
fn a_number_that_a_driver_rounds_is_kept_as_the_driver_holds_it() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let before = sandbox.state();
    let set = sandbox.apply(&["receive-coalescing-frames=100"]);
    assert_eq!(set["steps"][0]["new"], "64");
    assert_eq!(set["commands"][0], "ethtool -C tap0 rx-frames 100");
    let entry = &sandbox.journal()[0];
    assert_eq!(entry["steps"][0]["new"], "64");
    let undone = sandbox.undo(&[]);
    assert_eq!(undone[0]["knobs"][0]["fate"], "put_back");
    assert_eq!(sandbox.state(), before);
}

#[test]
fn a_rounded_number_that_somebody_else_has_set_since_is_left_alone() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["receive-coalescing-frames=100"]);
    sandbox.prints(&["ethtool", "-C", "tap0", "rx-frames", "32"]);
    let output = sandbox.levers(&["undo"]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_says(
        &said,
        "left at 32, which somebody else has set; ours was 64",
    );
}

/// Asserts that a lever is refused for a device, with these words, and that nothing changes.
fn is_refused(sandbox: &Sandbox, asked: &str, device: &str, words: &str) {
    let before = sandbox.state();
    let output = sandbox.levers(&["apply", asked, "--device", device]);
    let said = refused(&output);
    assert!(said.contains(words), "{asked}: {said}");
    assert_eq!(sandbox.state(), before);
    assert!(sandbox.journal().is_empty());
}

#[test]
fn a_setting_that_a_driver_lacks_or_cannot_take_is_refused_with_the_reason() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let refused = |asked, device, words| is_refused(&sandbox, asked, device, words);
    refused(
        "receive-coalescing=100",
        "tap0",
        "rx-usecs of tap0: Operation not supported (EOPNOTSUPP)",
    );
    refused(
        "receive-coalescing=100",
        "bench0",
        "this kernel or machine has no rx-usecs of bench0",
    );
    refused(
        "receive-channels=3",
        "bench0",
        "expected a number from 1 to 2",
    );
    refused(
        "receive-offload=perhaps",
        "bench0",
        "cannot be `perhaps`; expected on, off",
    );
}

#[test]
fn what_an_undo_would_not_bring_back_is_not_begun() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.writes(QUEUE_MASK, "1");
    let lost = format!("what {QUEUE_MASK} holds would be lost");
    is_refused(&sandbox, "receive-channels=1", "bench0", &lost);
}

#[test]
fn a_qdisc_with_settings_that_somebody_has_put_there_is_left() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.prints(&[
        "tc", "qdisc", "replace", "dev", "bench0", "root", "tbf", "rate", "1gbit", "burst",
        "100kb", "latency", "50ms",
    ]);
    let lost = "the options, classes and filters of its tbf would be lost";
    is_refused(&sandbox, "qdisc=pfifo_fast", "bench0", lost);
}

#[test]
fn a_route_that_would_not_be_kept_exactly_is_left_with_all_others_of_its_device() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let hops = "ip route add 10.99.0.0/24 nexthop via 10.79.0.2 dev bench0 \
                nexthop via 10.79.0.3 dev bench0";
    sandbox.prints(&["sh", "-c", hops]);
    let why = "the route 10.99.0.0/24 is left as it is: it has several next hops";
    is_refused(&sandbox, "initial-window=30", "bench0", why);
}

#[test]
fn a_route_that_shares_its_key_with_one_that_leads_nowhere_is_left() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let nowhere = "ip route prepend blackhole default metric 50";
    sandbox.prints(&["sh", "-c", nowhere]);
    let why = "there are several routes with the same key";
    is_refused(&sandbox, "initial-window=30", "bench0", why);
}

#[test]
fn a_feature_that_was_asked_for_and_is_off_is_asked_for_again_by_the_undo() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.prints(&["ethtool", "-K", "bench0", "tx-scatter-gather", "off"]);
    let before = sandbox.state();
    assert!(before.contains("tx-tcp-segmentation: off [requested on]"));
    assert_eq!(sandbox.now("segmentation-offload"), "off:wanted");
    let why = "bench0 keeps it as it is: it depends on another feature";
    is_refused(&sandbox, "segmentation-offload=on", "bench0", why);
    sandbox.apply(&["segmentation-offload=off"]);
    assert!(
        !sandbox
            .state()
            .contains("tx-tcp-segmentation: off [requested on]")
    );
    sandbox.undo(&[]);
    assert_eq!(sandbox.state(), before);
}

#[test]
fn the_commands_that_change_a_route_keep_all_else_of_it() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let before = sandbox.state();
    let dry = sandbox.apply(&["initial-window=30", "--dry-run"]);
    let run = |commands: &serde_json::Value| {
        for command in commands.as_array().unwrap() {
            sandbox.prints(&["sh", "-c", command.as_str().unwrap()]);
        }
    };
    run(&dry["commands"]);
    let by_hand = sandbox.state();
    assert_ne!(by_hand, before);
    run(&dry["undo_commands"]);
    assert_eq!(sandbox.state(), before);
    sandbox.apply(&["initial-window=30"]);
    assert_eq!(sandbox.state(), by_hand);
}

#[test]
fn an_interrupt_suspension_is_put_back_though_the_device_was_down_and_has_new_napis() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.suspensions("bench0"), "0\n0\n");
    sandbox.apply(&["interrupt-suspension=20000000"]);
    assert_eq!(sandbox.suspensions("bench0"), "20000000\n20000000\n");
    let ids = || sandbox.apply(&["interrupt-suspension=1", "--dry-run"])["commands"].clone();
    let before = ids();
    sandbox.prints(&["ip", "link", "set", "bench0", "down"]);
    let undone = sandbox.levers(&["undo"]);
    assert_eq!(undone.status.code(), Some(3), "{}", errors(&undone));
    let said = String::from_utf8(undone.stdout).unwrap();
    assert_says(&said, "ENETDOWN");
    sandbox.prints(&["ip", "link", "set", "bench0", "up"]);
    assert_ne!(ids(), before);
    assert_eq!(sandbox.suspensions("bench0"), "20000000\n20000000\n");
    sandbox.undo(&[]);
    assert_eq!(sandbox.suspensions("bench0"), "0\n0\n");
    is_refused(
        &sandbox,
        "interrupt-suspension=20000000",
        "tap0",
        "the kernel lists no NAPI of tap0: its driver has none, or it is down",
    );
}

#[test]
fn what_a_napi_has_of_its_own_is_not_overwritten_with_what_its_device_is_given() {
    crate::common::needs_root!();
    for (lever, attribute, own) in NAPI_LEVERS {
        let sandbox = Sandbox::new();
        if first_napi(&sandbox, &[attribute]) == "None\n" {
            continue;
        }
        first_napi(&sandbox, &[attribute, own]);
        let why = format!("has {own} of its own, and an undo would not bring that back");
        is_refused(&sandbox, lever, "bench0", &why);
        sandbox.apply(&["napi-defer-hard-irqs=2"]);
    }
}

#[test]
fn what_a_napi_was_given_since_is_left_to_it_by_the_undo_and_told() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let (lever, attribute, own) = NAPI_LEVERS[0];
    sandbox.apply(&[lever]);
    first_napi(&sandbox, &[attribute, own]);
    let undone = sandbox.levers(&["undo"]);
    assert_eq!(undone.status.code(), Some(3), "{}", errors(&undone));
    let said = String::from_utf8(undone.stdout).unwrap();
    assert_says(&said, &format!("has {own} of its own"));
    assert_eq!(first_napi(&sandbox, &[attribute]).trim(), own);
}

#[test]
fn a_napi_that_somebody_has_put_back_already_is_no_obstacle_to_the_undo() {
    crate::common::needs_root!();
    for (lever, attribute, _) in NAPI_LEVERS {
        let sandbox = Sandbox::new();
        let before = first_napi(&sandbox, &[attribute]);
        if before == "None\n" {
            continue;
        }
        let state = sandbox.state();
        sandbox.apply(&[lever]);
        assert_ne!(first_napi(&sandbox, &[attribute]), before, "{lever}");
        first_napi(&sandbox, &[attribute, before.trim()]);
        sandbox.undo(&[]);
        assert_eq!(sandbox.state(), state);
    }
}

/// Levers of a device, with the attribute of a NAPI that each sets as well (`NETDEV_A_NAPI_…` of
/// linux/netdev.h), and a value that a NAPI may have of its own. The last attribute exists since
/// Linux 6.17.
const NAPI_LEVERS: [(&str, &str, &str); 2] = [
    ("gro-flush-timeout=20000", "6", "777"),
    ("threaded-napi=1", "8", "1"),
];

/// The attribute of the first NAPI of `bench0`, after it was set if a value is given too.
fn first_napi(sandbox: &Sandbox, words: &[&str]) -> String {
    sandbox.asks_kernel("first-napi", "bench0", words)
}
