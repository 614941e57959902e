//! The catalogue of levers as a whole, and single levers on planted machines.

mod recorded;

use std::collections::BTreeSet;

use super::*;
use crate::tree::planted::Planted;

const IDLE: &str = "proc/sys/net/ipv4/tcp_slow_start_after_idle";

#[test]
fn every_lever_has_a_name_of_its_own_and_says_what_it_does() {
    let names: Vec<&str> = all().map(|lever| lever.name.as_str()).collect();
    let distinct: BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    for lever in all() {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(lever.name.bytes().all(plain), "{}", lever.name);
        for words in [&lever.title, &lever.about, &lever.helps, &lever.hurts] {
            assert!(!words.is_empty(), "{}", lever.name);
        }
    }
}

#[test]
fn levers_we_set_are_tested_or_say_why_not_and_others_are_only_seen_to_take_effect() {
    for lever in all() {
        let mut benches = lever.tested_in.iter();
        match lever.sets().is_empty() {
            true => assert!(benches.all(|bench| bench.is_of_others()), "{}", lever.name),
            false => assert_ne!(
                benches.len() > 0,
                lever.untested.is_some(),
                "{}",
                lever.name
            ),
        }
    }
    let words = |name| find(name).unwrap().tested_words();
    let wanted =
        "applied and restored in a test here, in a network namespace, and in a virtual machine";
    assert_eq!(words("mtu"), wanted);
    assert_eq!(words("packet-taps"), "never applied in a test");
    let by_hand = "seen to take effect by hand in a virtual machine";
    assert_eq!(words("syscall-audit"), by_hand);
    let over_a_reboot = "seen to take effect over a reboot of an emulated machine";
    assert!(words("mitigations").starts_with(over_a_reboot));
}

#[test]
fn a_plan_holds_only_what_differs_and_how_a_person_would_do_it() {
    let machine = Planted::new("plan", &[(IDLE, "1\n")]);
    let site = Site::below(&machine.tree, None);
    let lever = find("slow-start-after-idle").unwrap();
    let reading = lever.read(&site).unwrap();
    assert_eq!(
        (reading.now.as_str(), reading.is_recommended),
        ("1", Some(false))
    );
    let plan = lever.plan(&site, None).unwrap();
    assert_eq!(
        plan.commands(),
        ["sysctl -w net.ipv4.tcp_slow_start_after_idle=0"]
    );
    assert_eq!(
        plan.undo_commands(),
        ["sysctl -w net.ipv4.tcp_slow_start_after_idle=1"]
    );
    assert_eq!(lever.plan(&site, Some("1")).unwrap().steps, []);
}

#[test]
fn a_value_out_of_range_says_what_is_expected() {
    let machine = Planted::new("range", &[(IDLE, "1\n")]);
    let site = Site::below(&machine.tree, None);
    let lever = find("slow-start-after-idle").unwrap();
    for value in ["2", "-1", "on", ""] {
        let obstacle = lever.plan(&site, Some(value)).unwrap_err().to_string();
        let expected = format!("slow-start-after-idle cannot be `{value}`; expected 0 or 1");
        assert_eq!(obstacle, expected);
    }
}

#[test]
fn a_lever_without_one_right_value_asks_for_one() {
    let control = "proc/sys/net/ipv4/tcp_congestion_control";
    let offered = "proc/sys/net/ipv4/tcp_available_congestion_control";
    let machine = Planted::new("asks", &[(control, "bbr\n"), (offered, "reno bbr\n")]);
    let site = Site::below(&machine.tree, None);
    let lever = find("congestion-control").unwrap();
    let obstacle = lever.plan(&site, None).unwrap_err().to_string();
    assert!(
        obstacle.contains("give congestion-control=VALUE with one of reno, bbr"),
        "{obstacle}"
    );
    assert_eq!(lever.plan(&site, Some("reno")).unwrap().steps.len(), 1);
    let obstacle = lever.plan(&site, Some("cubic")).unwrap_err().to_string();
    let wanted = "congestion-control cannot be `cubic`; expected one of reno, bbr";
    assert_eq!(obstacle, wanted);
}

#[test]
fn a_setting_that_a_kernel_has_not_is_named() {
    let machine = Planted::new("absent", &[("proc/version", "Linux")]);
    let site = Site::below(&machine.tree, Some("eth0"));
    let reason = |name| find(name).unwrap().read(&site).unwrap_err().to_string();
    assert_eq!(
        reason("slow-start-after-idle"),
        "this kernel or machine has no net.ipv4.tcp_slow_start_after_idle"
    );
    assert!(reason("receive-packet-steering").contains("eth0 shows no such queue"));
}

#[test]
fn each_queue_of_a_device_is_a_knob() {
    let file = |queue: &str, name: &str| format!("sys/class/net/eth0/queues/{queue}/{name}");
    let files = [
        ("rx-0", "rps_cpus"),
        ("rx-10", "rps_cpus"),
        ("rx-2", "rps_cpus"),
        ("tx-0", "xps_cpus"),
    ];
    let paths: Vec<String> = files
        .iter()
        .map(|(queue, name)| file(queue, name))
        .collect();
    let files: Vec<(&str, &str)> = paths
        .iter()
        .map(|path| (path.as_str(), "00000000\n"))
        .collect();
    let machine = Planted::new("queues", &files);
    let site = Site::below(&machine.tree, Some("eth0"));
    let plan = find("receive-packet-steering")
        .unwrap()
        .plan(&site, Some("0-1"))
        .unwrap();
    let commands = plan.commands();
    let expected = ["rx-0", "rx-2", "rx-10"]
        .map(|queue| format!("echo 00000003 > /{}", file(queue, "rps_cpus")));
    assert_eq!(commands, expected);
}

#[test]
fn a_lever_owns_its_own_knobs_and_no_others() {
    let own = Knob::sysctl("vm.swappiness");
    let foreign = Knob::sysctl("kernel.core_pattern");
    let lever = find("swappiness").unwrap();
    assert!(lever.owns(&own));
    assert!(!lever.owns(&foreign));
    assert!(!find("packet-taps").unwrap().owns(&own));
}

#[test]
fn a_share_of_memory_that_is_overruled_by_bytes_is_not_set() {
    let rows = [
        ("dirty_ratio", "dirty_bytes"),
        ("dirty_background_ratio", "dirty_background_bytes"),
    ];
    for (ratio, bytes) in rows {
        let [ratio_file, bytes_file] = [ratio, bytes].map(|name| format!("proc/sys/vm/{name}"));
        let machine = Planted::new(ratio, &[(&ratio_file, "0\n"), (&bytes_file, "1048576\n")]);
        let site = Site::below(&machine.tree, None);
        let lever = find(&ratio.replace('_', "-")).unwrap();
        assert_eq!(lever.read(&site).unwrap().now, "0");
        let wanted = format!("vm.{ratio} is overruled by vm.{bytes}, which is `1048576`");
        for refused in [
            lever.may_set(&site),
            lever.plan(&site, Some("10")).map(drop),
        ] {
            let said = refused.unwrap_err().to_string();
            assert!(said.starts_with(&wanted), "{said}");
        }
        std::fs::write(machine.tree.path(&bytes_file), "0\n").unwrap();
        assert_eq!(lever.plan(&site, Some("10")).unwrap().steps.len(), 1);
    }
}

#[test]
fn what_is_not_wrong_everywhere_is_not_called_wrong() {
    let machine = Planted::new(
        "one-sided",
        &[
            ("sys/module/haltpoll/parameters/guest_halt_poll_ns", "0\n"),
            ("proc/sys/vm/swappiness", "180\n"),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always madvise [never]\n",
            ),
            ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
            ("proc/sys/net/ipv4/tcp_max_syn_backlog", "512\n"),
        ],
    );
    let site = Site::below(&machine.tree, None);
    for name in [
        "guest-halt-poll",
        "swappiness",
        "huge-pages",
        "realtime-share",
        "syn-backlog",
    ] {
        assert_eq!(
            find(name).unwrap().read(&site).unwrap().is_recommended,
            None,
            "{name}"
        );
    }
}

#[test]
fn an_mtu_that_would_cost_the_ipv6_addresses_is_refused() {
    let machine = Planted::new("mtu", &[("sys/class/net/eth0/mtu", "1500\n")]);
    let site = Site::below(&machine.tree, Some("eth0"));
    let lever = find("mtu").unwrap();
    let refused = lever.plan(&site, Some("1279")).unwrap_err().to_string();
    assert!(refused.contains("a number from 1280 to 65535"), "{refused}");
    assert_eq!(lever.plan(&site, Some("1280")).unwrap().steps.len(), 1);
}

#[test]
fn a_memory_reserve_above_the_usual_recommendation_is_recommended_as_it_is() {
    let kept = "proc/sys/vm/min_free_kbytes";
    let memory = ("proc/meminfo", "MemTotal:        1048576 kB\n");
    for (now, recommended) in [("67584", "67584"), ("4096", "10485")] {
        let machine = Planted::new("reserve", &[(kept, now), memory]);
        let site = Site::below(&machine.tree, None);
        let lever = find("memory-reserve").unwrap();
        assert_eq!(lever.recommended(&site).as_deref(), Some(recommended));
        let is_recommended = lever.read(&site).unwrap().is_recommended;
        assert_eq!(is_recommended, Some(now == recommended));
    }
}
