//! Levers tried on a server that runs: in a network namespace of the test's own, with its own journal.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Folder, assert_says, errors};
use crate::levers::sandbox::Sandbox;

/// A server, the namespace where it runs, and where runs go.
pub(super) struct Bench {
    pub(super) sandbox: Sandbox,
    pub(super) server: Child,
    pub(super) url: String,
    pub(super) folder: Folder,
}

impl Bench {
    /// Starts our own server, whose answers all have this length.
    pub(super) fn new(name: &str, answer_bytes: usize) -> Self {
        let (sandbox, folder) = (Sandbox::new(), Folder::new(&format!("levers-try-{name}")));
        let message = "x".repeat(answer_bytes);
        let program = crate::common::program();
        let words = [
            program,
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--workers",
            "1",
        ];
        let mut server = sandbox
            .command(&[&words[..], &["--message", &message]].concat())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let said = server.stdout.as_mut().unwrap();
        BufReader::new(said).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        let url = format!("http://{address}/plaintext");
        Self {
            sandbox,
            server,
            url,
            folder,
        }
    }

    pub(super) fn run_folder(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    pub(super) fn words<'a>(&'a self, words: &[&'a str], out: &'a str) -> Vec<&'a str> {
        let around = ["--url", &self.url, "--yes", "--out", out];
        [&["try"], words, &around].concat()
    }

    pub(super) fn tries(&self, words: &[&str]) -> Output {
        let out = self.run_folder();
        self.sandbox
            .levers(&self.words(words, out.to_str().unwrap()))
    }

    /// The judgement of a run that must succeed.
    pub(super) fn judgement(&self, words: &[&str]) -> Value {
        let output = self.tries(&[words, &["--json"]].concat());
        assert!(output.status.success(), "{}", errors(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The message of a run that is refused before anything is measured.
    pub(super) fn refusal(&self, words: &[&str]) -> String {
        let output = self.tries(words);
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(!self.run_folder().exists(), "{said}");
        said
    }

    /// Kills a run that sets `tcp-autocorking`, and checks that the value is put back.
    pub(super) fn killed_in_the_middle(&self, words: &[&str]) {
        assert_eq!(self.corking(), "1");
        let (out, program) = (self.run_folder(), crate::common::program());
        let words = [words, &["--rounds", "500"]].concat();
        let words = self.words(&words, out.to_str().unwrap());
        let command = [&[program, "levers"], &words[..]].concat();
        // A group of its own, so that the agent dies by the same signal.
        let mut run = self
            .sandbox
            .command(&[&["setsid", "--wait"], &command[..]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = |is_so: &dyn Fn() -> bool| {
            assert!(sys::clock::wait_until(Duration::from_secs(60), is_so));
        };
        until(&|| self.corking() == "0");
        kill_all_of(&out);
        run.wait().unwrap();
        // Who puts it back has nobody to ask; whoever asks meanwhile does it himself.
        until(&|| self.corking() == "1");
        assert!(self.sandbox.levers(&["undo"]).status.success());
        until(&|| self.sandbox.journal().is_empty());
        assert_eq!(self.corking(), "1");
    }

    pub(super) fn corking(&self) -> String {
        let file = "/proc/sys/net/ipv4/tcp_autocorking";
        self.sandbox.prints(&["cat", file]).trim().to_owned()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

pub(super) fn verdict<'a>(judgement: &'a Value, arm: &str) -> &'a str {
    let mut steps = judgement["steps"].as_array().unwrap().iter();
    let step = steps.find(|step| step["arm"] == arm).unwrap();
    step["verdict"].as_str().unwrap()
}

/// Makes the sandbox look like a host of a rig: only loopback and a device of a rig are up.
pub(super) const AS_A_RIG: &str = "cd /sys/class/net && for device in *; do \
                        [ $device = lo ] || ip link set $device down; done; \
                        ip link add lr-test type veth peer name lr-far && ip link set lr-test up";

#[test]
fn a_lever_of_known_cost_comes_out_as_one_and_is_put_back() {
    crate::common::needs_root!();
    let bench = Bench::new("cost", 10);
    bench.sandbox.prints(&["sh", "-c", AS_A_RIG]);
    let taps = || bench.sandbox.prints(&["cat", "/proc/net/packet"]);
    let before = (bench.sandbox.state(), taps());
    // Each packet is shown to 64 sockets, which costs more than the answer.
    let slower = "packet-tap=64";
    let judgement = bench.judgement(&[slower, "-c", "4", "--rounds", "12"]);
    assert_eq!(verdict(&judgement, slower), "worse", "{judgement}");
    assert_eq!(judgement["levers"]["proven"], serde_json::json!([]));
    assert_eq!((bench.sandbox.state(), taps()), before);
    assert!(bench.sandbox.journal().is_empty());
}

#[test]
fn what_was_proven_is_told_as_commands_and_as_files_that_set_it() {
    crate::common::needs_root!();
    let bench = Bench::new("proven", 100_000);
    // The value at the start is the costly one, so that the lever helps.
    let small = "4096 4096 4096";
    let set = format!("net.ipv4.tcp_wmem={small}");
    bench.sandbox.prints(&["sysctl", "-w", &set]);
    let lever = "tcp-send-buffer=4096,65536,4194304";
    let judgement = bench.judgement(&[lever, "-c", "4", "--rounds", "12"]);
    assert_eq!(verdict(&judgement, lever), "better", "{judgement}");
    let levers = &judgement["levers"];
    let text = |field: &str| levers[field].as_str().unwrap_or_default().to_owned();
    assert_eq!(levers["proven"], serde_json::json!([lever]));
    let command = "sysctl -w net.ipv4.tcp_wmem='4096 65536 4194304'";
    assert_eq!(levers["commands"], serde_json::json!([command]));
    let line = "net.ipv4.tcp_wmem = 4096 65536 4194304\n";
    assert!(text("sysctl_d").ends_with(line), "{levers}");
    let section = "[sysctl]\nnet.ipv4.tcp_wmem=4096 65536 4194304\n";
    assert!(text("tuned").ends_with(section), "{levers}");
    let held = bench.sandbox.prints(&["sysctl", "-n", "net.ipv4.tcp_wmem"]);
    assert_eq!(held.replace('\t', " ").trim(), small);
}

#[test]
fn what_cannot_be_tried_is_named_with_the_reason_beside_what_is() {
    crate::common::needs_root!();
    let bench = Bench::new("nothing", 10);
    let words = ["nothing", "busy-poll=50", "accept-queue=9999", "--smoke"];
    let judgement = bench.judgement(&words);
    // Two rounds are too few for any claim.
    let verdict = verdict(&judgement, "nothing");
    assert!(!["better", "worse"].contains(&verdict), "{judgement}");
    let untried = judgement["levers"]["untried"].as_array().unwrap();
    let why = |nth: usize| untried[nth]["why"].as_str().unwrap();
    assert!(why(0).contains("--host"), "{}", why(0));
    assert!(why(1).contains("not restarted"), "{}", why(1));
    let commands = untried[1]["commands"].to_string();
    assert_says(&commands, "levers apply accept-queue=9999");
    assert_says(&commands, "linerate versus http://127.0.0.1:");
}

#[test]
fn all_safe_levers_are_those_that_take_hold_at_once_and_cost_speed_at_worst() {
    crate::common::needs_root!();
    let bench = Bench::new("safe", 10);
    let judgement = bench.judgement(&["--all-safe", "--smoke"]);
    assert_ne!(verdict(&judgement, "tcp-autocorking=0"), "better");
    let steps = judgement["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().filter_map(|it| it["arm"].as_str()).collect();
    for never in ["busy-poll", "accept-queue", "abort-on-overflow", "mtu"] {
        assert!(
            !names.iter().any(|name| name.starts_with(never)),
            "{names:?}"
        );
        let untried = judgement["levers"]["untried"].as_array().unwrap();
        assert!(
            untried.iter().any(|it| it["lever"] == never),
            "{never}: {untried:?}"
        );
    }
    assert!(bench.sandbox.journal().is_empty());
}

#[test]
fn bad_input_is_refused_before_anything_is_loaded() {
    crate::common::needs_root!();
    let bench = Bench::new("refused", 10);
    for (words, why) in [
        (&["tcp-autocorkin=0"][..], "did you mean `tcp-autocorking`?"),
        (&["tcp-autocorking=7"], "expected 0 or 1"),
        (
            &["tcp-autocorking=0", "tcp-autocorking=0"],
            "was given twice",
        ),
        (&["notsent-lowat"], "give notsent-lowat=VALUE"),
        (&["tcp-autocorking=1"], "this machine is set so already"),
        (&["nice=5"], "linerate levers run nice=5 -- YOUR_SERVER"),
        (&["workers=2"], "a switch of our own server"),
        (
            &["packet-tap=3"],
            "only set in a network namespace of our own",
        ),
        (&["mtu=1500"], "--host"),
        (
            &["tcp-autocorking=0", "--for", "3s"],
            "--for is too short for 1 levers",
        ),
    ] {
        let said = bench.refusal(words);
        assert!(said.contains(why), "{words:?}: {said}");
    }
    let set = bench.sandbox.levers(&["apply", "tcp-autocorking=0"]);
    assert!(set.status.success(), "{}", errors(&set));
    let said = bench.refusal(&["tcp-autocorking=1"]);
    assert_says(
        &said,
        "put it back first: linerate levers undo tcp-autocorking",
    );
}

#[test]
fn a_port_where_nobody_listens_is_told() {
    crate::common::needs_root!();
    let mut bench = Bench::new("nobody", 10);
    bench.server.kill().unwrap();
    bench.server.wait().unwrap();
    let said = bench.refusal(&["tcp-autocorking=0"]);
    assert_says(&said, "nothing listens at http://127.0.0.1:");
}

#[test]
fn killed_in_the_middle_nothing_stays() {
    crate::common::needs_root!();
    let bench = Bench::new("killed", 10);
    bench.killed_in_the_middle(&["tcp-autocorking=0"]);
}

/// Kills the run that writes to that folder, and its agent, which is its child.
fn kill_all_of(out: &std::path::Path) {
    let out = out.to_str().unwrap();
    let text = |pid: u32, file: &str| {
        std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
    };
    let processes = || {
        let all = std::fs::read_dir("/proc").unwrap();
        all.filter_map(|it| it.ok()?.file_name().to_str()?.parse::<u32>().ok())
    };
    let is_run = |pid: &u32| {
        let line = text(*pid, "cmdline");
        line.starts_with(crate::common::program()) && line.contains(out)
    };
    let run = processes().find(is_run).unwrap();
    let of_run = format!("PPid:\t{run}\n");
    let agents: Vec<u32> = processes()
        .filter(|pid| text(*pid, "status").contains(&of_run))
        .collect();
    for pid in [&[run], &agents[..]].concat() {
        let pid = pid.to_string();
        let _ = std::process::Command::new("kill")
            .args(["-KILL", &pid])
            .status();
    }
}
