//! A setting that reaches a device of the host is put back automatically unless it is confirmed.

use std::io::{BufRead as _, BufReader};
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{assert_says, errors, program, refused};
use crate::levers::sandbox::Sandbox;

const MTU: &str = "/sys/class/net/bench0/mtu";
const LONGEST: Duration = Duration::from_secs(60);

#[test]
fn a_lever_of_a_device_that_is_not_confirmed_is_put_back() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let set = sandbox.apply(&["mtu=1400", "--trial", "5"]);
    assert_eq!(set["reverts_after_s"], 5);
    assert_eq!(sandbox.holds(MTU), "1400");
    let is_back = || sandbox.holds(MTU) == "1500";
    assert!(sys::clock::wait_until(LONGEST, is_back));
    assert!(sys::clock::wait_until(LONGEST, || sandbox
        .journal()
        .is_empty()));
}

#[test]
fn a_confirmed_lever_stays_until_it_is_undone() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["mtu=1400", "--trial", "10"]);
    assert!(sandbox.levers(&["confirm", "mtu"]).status.success());
    // The time of this trial ends, and that of the confirmed one would have ended before it.
    sandbox.apply(&["transmit-queue-length=7", "--trial", "12"]);
    assert!(sys::clock::wait_until(LONGEST, || sandbox.journal().len() == 1));
    assert_eq!(sandbox.holds(MTU), "1400");
    sandbox.undo(&["mtu"]);
    assert_eq!(sandbox.holds(MTU), "1500");
}

#[test]
fn the_time_of_a_trial_begins_when_it_is_set_and_not_while_it_waits_for_the_journal() {
    const FOLDER: &str = "/var/lib/linerate";
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.prints(&["mkdir", "-m", "0700", FOLDER]);
    let lock = format!("{FOLDER}/lock");
    let hold = ["flock", &lock, "sh", "-c", "echo held; read until_told"];
    let mut holder = sandbox.command(&hold);
    let mut holder = holder
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let output = holder.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut said).unwrap();
    let apply = [
        program(),
        "levers",
        "apply",
        "mtu=1400",
        "--device",
        "bench0",
    ];
    let mut apply = sandbox.command(&apply);
    let mut apply = apply.stdout(Stdio::null()).spawn().unwrap();
    let descriptors = format!("/proc/{}/fd", apply.id());
    let waits = || {
        let files = std::fs::read_dir(&descriptors).unwrap();
        let mut files = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        files.any(|file| file.ends_with("linerate/lock"))
    };
    assert!(sys::clock::wait_until(LONGEST, waits));
    let released_ms = sys::clock::since_boot_ms();
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert!(apply.wait().unwrap().success());
    let entry: Value =
        serde_json::from_str(&sandbox.holds("/var/lib/linerate/journal.jsonl")).unwrap();
    let reverts_at_ms = entry["change"]["lever"]["reverts_at_ms"].as_u64().unwrap();
    assert!(reverts_at_ms >= released_ms + 60_000, "{entry}");
    sandbox.undo(&[]);
}

/// Sends a signal to each process of this network namespace that is to put an entry back in time,
/// and prints `sent`.
const SIGNAL_GUARDS: &str = "here=$(readlink /proc/self/ns/net)
for file in $(grep -las 'lever[s].revert' /proc/[0-9]*/cmdline); do
    process=${file%/cmdline}
    [ \"$(readlink $process/ns/net)\" = \"$here\" ] || continue
    kill -$0 ${process#/proc/} && echo sent
done
true";

fn signal_guards(sandbox: &Sandbox, signal: &str) -> bool {
    let said = sandbox.prints(&["sh", "-c", SIGNAL_GUARDS, signal]);
    said.contains("sent")
}

#[test]
fn a_trial_that_was_undone_or_confirmed_is_no_longer_guarded() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    for end in ["undo", "confirm"] {
        sandbox.apply(&["mtu=1400", "--trial", "3600"]);
        assert!(signal_guards(&sandbox, "0"), "{end}");
        assert!(sandbox.levers(&[end, "mtu"]).status.success());
        let is_over = || !signal_guards(&sandbox, "0");
        assert!(sys::clock::wait_until(LONGEST, is_over), "{end}");
    }
}

/// Leaves a device changed beyond its time, with nobody to put it back.
fn leave_overdue(sandbox: &Sandbox) {
    // On a busy machine the second may be over before the kill.
    let is_left = || {
        sandbox.apply(&["mtu=1400", "--trial", "1"]);
        // A guard that was killed while it put the value back may have done half of it.
        signal_guards(sandbox, "9") && sandbox.holds(MTU) == "1400"
    };
    assert!(sys::clock::wait_until(LONGEST, is_left));
    let is_overdue = || sandbox.status("mtu")["levers"][0]["is_overdue"] == true;
    assert!(sys::clock::wait_until(LONGEST, is_overdue));
}

#[test]
fn a_trial_whose_guard_was_killed_is_told_and_put_back_by_the_next_command_that_may_write() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    leave_overdue(&sandbox);
    let told = sandbox.prints(&[program(), "levers", "status", "mtu", "--device", "bench0"]);
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let wanted = "its trial is over and it was not put back: sudo linerate levers undo mtu";
    assert_says(&told, wanted);
    let dry = ["apply", "mtu=1400", "--device", "bench0", "--dry-run"];
    assert!(sandbox.levers(&dry).status.success());
    assert_eq!(sandbox.holds(MTU), "1400", "neither changes anything");
    for (words, code) in [
        (&["journal"][..], 0),
        (&["confirm", "mtu"], 2),
        (&["undo", "notsent-lowat"], 0),
        (&["apply", "slow-start-after-idle"], 0),
    ] {
        if sandbox.holds(MTU) == "1500" {
            leave_overdue(&sandbox);
        }
        let output = sandbox.levers(words);
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert!(
            said.contains("mtu should have been put back automatically")
                && said.contains("1500 again"),
            "{words:?}: {said}"
        );
        assert_eq!(sandbox.holds(MTU), "1500", "{words:?}");
    }
    assert_eq!(sandbox.journal()[0]["lever"], "slow-start-after-idle");
}

#[test]
fn there_may_be_nothing_to_confirm() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let output = sandbox.levers(&["confirm"]);
    assert_says(&refused(&output), "nothing waits to be confirmed");
}

/// The id of the process that locked the journal last.
fn last_owner(sandbox: &Sandbox) -> Value {
    let text = sandbox.holds("/var/lib/linerate/lock");
    // A process that has just locked it may not have written its id yet.
    serde_json::from_str::<Value>(&text).unwrap_or_default()["pid"].clone()
}

#[test]
fn what_could_not_be_put_back_in_time_is_tried_again() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["mtu=1400", "--trial", "10"]);
    let ours = last_owner(&sandbox);
    sandbox.prints(&["mount", "-o", "remount,bind,ro", "/sys"]);
    let is_tried = || ![&ours, &Value::Null].contains(&&last_owner(&sandbox));
    assert!(sys::clock::wait_until(LONGEST, is_tried));
    assert_eq!(sandbox.holds(MTU), "1400");
    sandbox.prints(&["mount", "-o", "remount,bind,rw", "/sys"]);
    assert!(sys::clock::wait_until(LONGEST, || sandbox.holds(MTU) == "1500"));
    assert!(sys::clock::wait_until(LONGEST, || sandbox
        .journal()
        .is_empty()));
}

/// A control group such as a login has, in the sandbox.
struct Login<'a>(&'a Sandbox, String);

impl<'a> Login<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        let folder = format!("/sys/fs/cgroup/linerate-login-{}", std::process::id());
        sandbox.prints(&["mount", "-t", "cgroup2", "none", "/sys/fs/cgroup"]);
        sandbox.prints(&["mkdir", &folder]);
        Self(sandbox, folder)
    }

    /// Runs `linerate levers …` in the group.
    fn levers(&self, words: &[&str]) -> Output {
        let enter = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", self.1);
        let linerate = ["sh", "-c", &enter, "sh", program(), "levers"];
        let mut command = self.0.command(&[&linerate, words].concat());
        command.output().unwrap()
    }

    /// Kills every process of the group, as logind does.
    fn kill_all(&self) {
        let kill = format!(
            "for pid in $(cat {}/cgroup.procs); do kill -9 $pid; done",
            self.1
        );
        self.0.prints(&["sh", "-c", &kill]);
    }
}

impl Drop for Login<'_> {
    fn drop(&mut self) {
        self.kill_all();
        self.0.prints(&["rmdir", &self.1]);
    }
}

#[test]
fn a_login_that_is_ended_with_all_its_processes_leaves_the_one_that_puts_back() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let login = Login::new(&sandbox);
    let apply = ["apply", "mtu=1400", "--device", "bench0", "--trial", "1"];
    let set = login.levers(&apply);
    let said = String::from_utf8_lossy(&set.stdout).into_owned();
    let told = "put back in 1 s unless you run: sudo linerate levers confirm mtu";
    assert!(said.contains(told), "{said}{}", errors(&set));
    login.kill_all();
    assert!(sys::clock::wait_until(LONGEST, || sandbox.holds(MTU) == "1500"));
}
