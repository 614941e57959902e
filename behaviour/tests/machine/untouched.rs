//! A machine is the same after it was measured, or looked at, as before.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Folder, PROGRAM, answer, assert_says, errors, linerate, program};
use crate::rig::snapshot::Snapshot;

/// Environment variable that is set for the process inside the isolated machine made for it.
const INSIDE: &str = "LINERATE_TEST_INSIDE";
/// How long the machine may take to become as it was: the kernel removes namespaces some time after
/// their last process has ended.
const LONGEST: Duration = Duration::from_secs(60);
/// Every command that loads the machine, each made short.
const MEASURING: [&[&str]; 10] = [
    &["--smoke", "--yes"],
    &["doctor", "--no-load"],
    &["bench", "--runs", "2", "true"],
    &["download", "file", "--settle", "20ms", "--duration", "50ms"],
    &["link", "--delay", "1ms", "--", "true"],
    &["page", "--size", "1000", "--rtt", "1ms", "--samples", "1"],
    &["packets", "--count", "1000"],
    &["stream", "--rig", "netns", "--for", "100ms"],
    &["probe"],
    &["probe", "cores"],
];

#[test]
fn every_command_that_measures_leaves_the_machine_as_it_was() {
    crate::common::needs_root!();
    if std::env::var_os(INSIDE).is_some() {
        return measure_everything();
    }
    // A machine with its own network, processes and files, so that nobody else's work shows.
    let prepare = "mount -t tmpfs none /tmp && chmod 1777 /tmp && mount -t tmpfs none /var/lib && \
                   ip link set lo up && exec \"$0\" --exact \"$1\" --nocapture";
    let test = "machine::untouched::every_command_that_measures_leaves_the_machine_as_it_was";
    let mut machine = Command::new("unshare");
    machine
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child"])
        .args(["--mount-proc", "sh", "-c", prepare])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(INSIDE, "1")
        .env(PROGRAM, program())
        .env("TMPDIR", "/tmp");
    let output = machine.output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
}

fn measure_everything() {
    let folder = Folder::new("untouched");
    std::fs::write(folder.path().join("file"), vec![7; 1 << 16]).unwrap();
    let state = Path::new("/var/lib/linerate");
    let before = Snapshot::take(&[state]);
    for words in MEASURING {
        answer(&mut linerate(&folder, words));
    }
    let mut differences = Vec::new();
    sys::clock::wait_until(LONGEST, || {
        differences = Snapshot::take(&[state]).differences(&before);
        differences.retain(|difference| !is_of_a_new_module(difference));
        differences.is_empty()
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(folder.names(""), ["file", "linerate-runs"]);
}

/// Whether a setting only came with a kernel module: it did not exist before, so nobody changed it.
fn is_of_a_new_module(difference: &str) -> bool {
    difference.starts_with("/proc/sys/") && difference.contains(": was None")
}

#[test]
fn what_only_looks_sends_nothing_beyond_this_machine() {
    let folder = Folder::new("only-looks");
    let trace = folder.path().join("trace");
    for words in [
        &["--version"][..],
        &["facts"],
        &["levers", "list"],
        &["study", "list"],
        &["service", "list"],
        &["doctor", "--no-load"],
    ] {
        let mut traced = Command::new("strace");
        traced
            .args(["-f", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o"])
            .arg(&trace)
            .arg(crate::common::program())
            .args(words)
            .current_dir(folder.path())
            .stdin(Stdio::null());
        let output = traced.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", errors(&output));
        let calls = folder.text("trace");
        assert_says(&calls, "+++ exited with 0 +++");
        let stays = |line: &str| !line.contains("AF_INET") || line.contains("\"127.0.0.1\"");
        assert!(calls.lines().all(stays), "{words:?}: {calls}");
    }
}
