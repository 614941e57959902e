//! What reaches a device of the host is put back by itself, unless it is confirmed.

use std::time::Duration;

use crate::sandbox::Sandbox;

const MTU: &str = "/sys/class/net/bench0/mtu";
const LONGEST: Duration = Duration::from_secs(60);

#[test]
fn a_lever_of_a_device_that_is_not_confirmed_is_put_back() {
    let sandbox = Sandbox::new();
    let set = sandbox.apply(&["mtu=1400", "--trial", "2"]);
    assert_eq!(set["reverts_after_s"], 2);
    assert_eq!(sandbox.holds(MTU), "1400");
    let is_back = || sandbox.holds(MTU) == "1500";
    assert!(sys::clock::wait_until(LONGEST, is_back));
    assert!(sys::clock::wait_until(LONGEST, || sandbox
        .journal()
        .is_empty()));
}

#[test]
fn a_confirmed_lever_stays_until_it_is_undone() {
    let sandbox = Sandbox::new();
    sandbox.apply(&["mtu=1400", "--trial", "5"]);
    assert!(sandbox.levers(&["confirm", "mtu"]).status.success());
    // Another one's time comes, and this one's would have come before it.
    sandbox.apply(&["transmit-queue-length=7", "--trial", "5"]);
    assert!(sys::clock::wait_until(LONGEST, || sandbox.journal().len() == 1));
    assert_eq!(sandbox.holds(MTU), "1400");
    sandbox.undo(&["mtu"]);
    assert_eq!(sandbox.holds(MTU), "1500");
}

#[test]
fn there_may_be_nothing_to_confirm() {
    let sandbox = Sandbox::new();
    let output = sandbox.levers(&["confirm"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(crate::common::errors(&output).contains("nothing waits to be confirmed"));
}
