//! How each check judges what it sees, and that each outcome has its text.

use std::collections::BTreeSet;

use model::finding::Severity::{Fine, Notice, Problem, Unknown};
use sys::cgroup::Throttling;

use super::*;
use crate::cpu_ticks::CpuTicks;
use crate::cpus::CpuSplit;

fn throttled(throttled_periods: u64) -> Option<Throttling> {
    let periods = 1000;
    Some(Throttling {
        periods,
        throttled_periods,
        ..Throttling::default()
    })
}

fn ticks(stolen_ns: u64) -> Option<CpuTicks> {
    let mut ticks = CpuTicks::default();
    ticks.machine.user_ns = 1000;
    ticks.machine.stolen_ns = stolen_ns;
    Some(ticks)
}

fn split(client: usize) -> CpuSplit {
    CpuSplit {
        server: vec![0],
        client: vec![client],
        left_out: Vec::new(),
    }
}

fn governed(governors: &[&str]) -> Finding {
    frequency::judge(&governors.iter().map(ToString::to_string).collect())
}

fn mitigated(states: &[(&str, &str)]) -> Finding {
    let states = states.iter();
    let states = states.map(|(name, state)| (name.to_string(), state.to_string()));
    mitigations::judge(&states.collect())
}

#[test]
fn each_check_weighs_what_it_sees() {
    let guest = Some("haltpoll");
    let seen = [
        (clocksource::judge("tsc", "tsc kvm-clock"), Fine),
        (clocksource::judge("hpet", "hpet acpi_pm"), Notice),
        (clocksource::judge("xen", "xen tsc"), Notice),
        (huge_pages::judge(Some("[always] madvise never")), Notice),
        (huge_pages::judge(Some("always [madvise] never")), Fine),
        (huge_pages::judge(None), Fine),
        // Only a guest that could poll and does not gets a notice.
        (halt_polling::judge(guest, Some(0)), Notice),
        (halt_polling::judge(guest, Some(200_000)), Fine),
        (halt_polling::judge(Some("intel_idle"), Some(0)), Fine),
        (halt_polling::judge(None, None), Fine),
        (governed(&[]), Fine),
        (governed(&["performance"]), Fine),
        (governed(&["performance", "powersave"]), Notice),
        (governed(&["schedutil"]), Notice),
        // A quota that was hit is worse than one that was only set.
        (cpu_quota::judge(None, throttled(0)), Fine),
        (cpu_quota::judge(Some(2.0), None), Notice),
        (cpu_quota::judge(Some(2.0), throttled(5)), Notice),
        (cpu_quota::judge(Some(2.0), throttled(200)), Problem),
        // Tracking is recognised by connections or by rules; a table that is nearly full is worse.
        (connection_tracking::judge(Some(0), Some(1000), Ok(0)), Fine),
        (
            connection_tracking::judge(Some(3), Some(1000), Ok(0)),
            Notice,
        ),
        (connection_tracking::judge(Some(0), None, Ok(1)), Notice),
        (connection_tracking::judge(None, None, Ok(0)), Fine),
        (
            connection_tracking::judge(Some(900), Some(1000), Ok(0)),
            Problem,
        ),
        (
            connection_tracking::judge(Some(900), Some(0), Ok(0)),
            Notice,
        ),
        (
            seccomp::judge("Seccomp:\t2\nSeccomp_filters:\t3\n", "It"),
            Notice,
        ),
        (
            seccomp::judge("Seccomp:\t0\nSeccomp_filters:\t0\n", "It"),
            Fine,
        ),
        (seccomp::judge("Name:\tx\n", "It"), Fine),
        (packet_taps::judge(&[7], "dhclient (pid 411)"), Notice),
        (packet_taps::judge(&[], ""), Fine),
        (mitigated(&[("mds", "Not affected")]), Fine),
        (mitigated(&[]), Unknown),
        (cpus::judge(&split(1)), Fine),
        (cpus::judge(&split(0)), Notice),
        // Stolen time is reported from a hundredth of the CPU time wanted.
        (stolen_time::judge(ticks(2)), Fine),
        (stolen_time::judge(ticks(50)), Notice),
        (stolen_time::judge(Some(CpuTicks::default())), Fine),
        (stolen_time::judge(None), Unknown),
        (backlog::judge(Some(4096), Some(0)), Fine),
        (backlog::judge(Some(128), Some(0)), Notice),
        (backlog::judge(None, None), Unknown),
    ];
    for (finding, severity) in seen {
        assert_eq!(finding.severity, severity, "{finding:?}");
    }
}

#[test]
fn what_a_look_at_rest_tells_is_worse_the_more_it_is() {
    let seen = [
        (at_rest::work(Some(0.01)), Fine),
        (at_rest::work(Some(0.06)), Notice),
        (at_rest::work(Some(0.5)), Problem),
        (at_rest::work(None), Unknown),
        (at_rest::pressure(Some(4.0)), Fine),
        (at_rest::pressure(Some(40.0)), Problem),
        (at_rest::pressure(None), Unknown),
        (at_rest::connections(0), Fine),
        (at_rest::speed(0.004), Fine),
        (at_rest::speed(0.05), Notice),
        (at_rest::speed(0.4), Problem),
    ];
    for (finding, severity) in seen {
        assert_eq!(finding.severity, severity, "{finding:?}");
    }
}

#[test]
fn what_is_found_is_said_in_a_sentence() {
    let dear = mitigated(&[
        ("meltdown", "Mitigation: PTI"),
        ("spectre_v1", "Mitigation: usercopy/swapgs barriers"),
        ("mds", "Not affected"),
        ("retbleed", "Vulnerable"),
    ]);
    let modules = security_modules::judge("lockdown,capability,yama,apparmor,bpf");
    let filtered = "Name:\tnginx\nSeccomp:\t2\nSeccomp_filters:\t3\n";
    let no_module = "No security module checks system calls.";
    let said = [
        (
            packet_taps::judge(&[7], "").what,
            "Every packet is copied for one socket.",
        ),
        (
            packet_taps::judge(&[7, 8], "").what,
            "Every packet is copied for 2 sockets.",
        ),
        (
            seccomp::judge(filtered, "Process 9").what,
            "Process 9 runs under 3 system call filters.",
        ),
        (
            seccomp::judge("Seccomp:\t2\n", "It").what,
            "It runs under one system call filter.",
        ),
        (
            security_modules::judge("capability,landlock").what,
            no_module,
        ),
        (security_modules::judge("").what, no_module),
        (
            dear.what,
            "One mitigation makes entering the kernel more expensive: meltdown.",
        ),
        (
            at_rest::connections(1).what,
            "A server here has one live connection from beyond loopback.",
        ),
        (
            backlog::judge(Some(4096), Some(7)).what,
            "7 connections found the accept queue full.",
        ),
    ];
    for (said, wanted) in said {
        assert_eq!(said, wanted);
    }
    let refused = io::Error::from_raw_os_error(1);
    let hidden = connection_tracking::judge(Some(0), None, Err(&refused));
    let parts = [
        (modules.what, "apparmor, bpf;"),
        (
            hidden.evidence,
            "connection state: Operation not permitted (EPERM)",
        ),
        (
            packet_taps::judge(&[7], "dhclient (pid 411)").evidence,
            "dhclient (pid 411)",
        ),
        (dear.evidence, "vulnerable: retbleed; not affected: 1"),
        (cpus::judge(&split(0)).evidence, "server 0, client 0"),
    ];
    for (said, part) in parts {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn every_check_copes_with_a_machine_that_shows_nothing() {
    let mut subject = subject_of(Tree::below("/nonexistent"));
    subject.pid = Some(0x3f_ffff);
    subject.nft_rules = Err(io::Error::from_raw_os_error(1));
    for check in CHECKS {
        let Some(finding) = check(&subject) else {
            continue;
        };
        assert!(!finding.what.is_empty(), "{}", finding.name);
        assert!(finding.severity < Severity::Notice, "{finding:?}");
    }
}

/// The source text of this folder, tests included.
fn code() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/findings");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let texts = files.filter_map(|path| std::fs::read_to_string(path).ok());
    texts.collect::<String>() + include_str!("audit/mod.rs")
}

#[test]
fn the_outcomes_that_a_check_names_are_exactly_those_of_its_texts() {
    let code = code();
    for (check, texts) in &*TEXTS {
        let beginning = format!("\"{check}.");
        let named = code.match_indices(&beginning);
        let named = named.map(|(at, _)| code[at..].split(['"', '.']).nth(2).unwrap());
        let named: BTreeSet<_> = named.collect();
        assert!(named.into_iter().eq(texts.outcomes.keys()), "{check}");
        if let Some(lever) = &texts.lever {
            assert!(levers::find(lever).unwrap().finding.is_some(), "{lever}");
        }
    }
}

#[test]
fn this_machine_is_looked_at_and_each_cost_comes_with_advice() {
    let findings = look(Some(std::process::id()));
    assert!(findings.len() >= 15);
    assert!(findings.is_sorted_by_key(|finding| std::cmp::Reverse(finding.severity)));
    for finding in &findings {
        let costly = finding.severity >= Severity::Notice;
        assert_eq!(costly, !finding.advice.is_empty(), "{finding:?}");
        assert!(!finding.evidence.is_empty(), "{finding:?}");
    }
    let mut names: Vec<_> = findings.iter().map(|finding| &finding.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), findings.len(), "a name is used twice");
}
