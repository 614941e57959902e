//! `explain` lowers the CPU quota of a program for moments, and restores it whatever happens.

use std::process::Stdio;

use serde_json::Value;

use crate::common::planted::{Planted, SHORT, explained};
use crate::common::processes::{Ours, all, children, signal_all, wait_for};
use crate::common::{Folder, answer, assert_says, linerate};
use crate::machine::confined::QuotaGroup;

/// A server in a control group of its own, which gives it `quota_us` of CPU time in each 100 ms.
fn throttled(quota_us: u32) -> (QuotaGroup, Planted) {
    let (group, server) = (QuotaGroup::of_us(quota_us), Planted::new("code"));
    group.take(server.child.id());
    (group, server)
}

#[test]
fn the_quota_is_lowered_by_a_tenth_for_the_trial_and_goes_back() {
    const QUOTA_US: u32 = 20_000;
    crate::common::needs_root!();
    let folder = Folder::new("quota");
    let (group, server) = throttled(QUOTA_US);
    let explained = explained(&folder, &[&server.url, "--out", "run"]);
    let explanation = &explained["explanation"];
    assert_eq!(explanation["limiter"]["name"], "cpu-quota", "{explained:#}");
    let proof = &explanation["proof"];
    assert_eq!(proof["what"], "quota", "{explained:#}");
    // Beside other work a tenth is within the noise of so few periods: then the trial proves
    // nothing.
    assert_ne!(proof["borne_out"], false, "{proof:#}");
    let [change, ratio] = ["change", "ratio"].map(|name| proof[name].as_f64().unwrap());
    assert!((change + 0.1).abs() < 1e-6 && ratio < 1.1, "{proof:#}");
    assert_eq!(group.quota_us(), QUOTA_US);
    assert_says(
        &folder.text("run/report.html"),
        "of its CPU quota taken away, the rate of answers was",
    );
}

#[test]
fn the_quota_of_a_server_is_tried_under_the_traffic_that_it_has() {
    const QUOTA_US: u32 = 20_000;
    crate::common::needs_root!();
    let folder = Folder::new("quota-of-others");
    let (group, server) = throttled(QUOTA_US);
    let words = ["load", &server.url, "-c", "8", "-d", "60s", "--quiet"];
    let clients = linerate(&folder, &words).stdout(Stdio::null()).spawn();
    let _clients = Ours(clients.unwrap());
    let pid = server.child.id().to_string();
    let words = ["explain", "--pid", &pid, "--for", "2s", "--json"];
    let words = [&words[..], &["--out", "run"]].concat();
    let explained = answer(&mut linerate(&folder, &words));
    let explained: Value = serde_json::from_str(&explained).unwrap();
    let explanation = &explained["explanation"];
    assert_eq!(explanation["limiter"]["name"], "cpu-quota", "{explained:#}");
    let proof = &explanation["proof"];
    assert_eq!(proof["what"], "quota", "{explained:#}");
    assert_ne!(proof["borne_out"], false, "{proof:#}");
    assert!(proof["ratio"].as_f64().unwrap() < 1.1, "{proof:#}");
    assert_eq!(group.quota_us(), QUOTA_US);
    assert_says(
        &folder.text("run/report.html"),
        "of its CPU quota taken away, its connections carried",
    );
}

#[test]
fn a_quota_goes_back_after_its_holder_is_killed_and_by_undo_where_its_guard_is_killed_too() {
    const QUOTA_US: u32 = 12_000;
    crate::common::needs_root!();
    for is_guard_killed in [false, true] {
        let folder = Folder::new("quota-killed");
        let (group, server) = throttled(QUOTA_US);
        let words = [&["explain", &server.url, "--out", "run"], &SHORT[..]].concat();
        let run = linerate(&folder, &words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut run = Ours(run.unwrap());
        wait_for("a lower quota", || group.quota_us() < QUOTA_US);
        let agent = children(run.id()).remove(0);
        let guards = all().filter(|pid| is_guard_of(*pid, agent));
        let guards: Vec<u32> = guards.take(usize::from(is_guard_killed)).collect();
        assert_eq!(guards.len(), usize::from(is_guard_killed));
        signal_all("KILL", &[guards, vec![agent, run.id()]].concat());
        run.wait().unwrap();
        if is_guard_killed {
            assert!(group.quota_us() < QUOTA_US);
            answer(&mut linerate(&folder, &["levers", "undo"]));
            assert_eq!(group.quota_us(), QUOTA_US);
        } else {
            wait_for("the quota of before", || group.quota_us() == QUOTA_US);
        }
    }
}

fn is_guard_of(pid: u32, agent: u32) -> bool {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).ends_with(&format!("revert-after\0{agent}\0"))
}
