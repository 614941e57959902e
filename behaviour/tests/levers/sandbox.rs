//! A network namespace with some devices, a `/sys` that shows them, and a state folder that goes
//! with the test: what levers of namespaces and devices change here affects nobody else.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::common::errors;

/// `bench0` is one end of a pair with two queues each way; with GRO it has a NAPI, as a card has.
/// `tap0` is one of the few virtual devices whose driver stores a number of `ethtool -C`, and
/// rounds it; `ifb9` is one of those whose queues count the bytes that they are to send.
const PREPARE: &str = "mount -t sysfs none /sys && mount -t tmpfs -o mode=0755 none /var/lib && \
                       ip link set lo up && \
                       ip link add bench0 numrxqueues 2 numtxqueues 2 type veth \
                       peer name bench1 numrxqueues 2 numtxqueues 2 && \
                       ip link set bench0 up && ip link set bench1 up && \
                       ethtool -K bench0 gro on && \
                       ip address add 10.79.0.1/24 dev bench0 && \
                       ip route add default via 10.79.0.2 dev bench0 metric 50 mtu lock 1400 && \
                       ip tuntap add tap0 mode tap && ip link set tap0 up && \
                       ip link add ifb9 type ifb && ip link set ifb9 up && \
                       echo ready && read until_the_test_is_over";
/// What levers of a namespace or a device can touch, as text.
const STATE: &str = "cd /proc/sys && grep -r . net/ipv4 net/core | grep -v -e flow_limit -e fib_sync; \
                     cd /sys/class/net/bench0 && grep . mtu tx_queue_len gro_flush_timeout \
                     napi_defer_hard_irqs threaded queues/*/rps_cpus queues/*/rps_flow_cnt \
                     queues/*/xps_cpus; ethtool -k bench0; ethtool -l bench0; ethtool -c tap0; \
                     grep . /sys/class/net/ifb9/queues/*/byte_queue_limits/limit_max; tc qdisc show; ip -4 route show table all; ip -details link show bench0; true";

/// A script that asks the kernel about a device what no tool reports, or not the tools that belong
/// to some kernels.
const ASK_KERNEL: &str = include_str!("ask_kernel.py");

/// The device on which a lever is tried: `bench0`, or the one that has what it sets.
pub(crate) fn device_of(lever: &str) -> &'static str {
    match lever.split('=').next() {
        Some("receive-coalescing-frames") => "tap0",
        Some("transmit-byte-limit") => "ifb9",
        _ => "bench0",
    }
}

pub(crate) struct Sandbox {
    keeper: Child,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let mut keeper = Command::new("unshare")
            .args([
                "--net",
                "--mount",
                "--propagation",
                "private",
                "sh",
                "-c",
                PREPARE,
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let said = keeper.stdout.as_mut().unwrap();
        BufReader::new(said).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self { keeper }
    }

    /// A command that runs in the sandbox.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args([
                "--net",
                "--mount",
                "--target",
                &self.keeper.id().to_string(),
                "--",
            ])
            .args(words)
            .stdin(Stdio::null());
        command
    }

    /// What a command in the sandbox prints; it must succeed.
    pub(crate) fn prints(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", errors(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs `linerate levers …` in the sandbox.
    pub(crate) fn levers(&self, words: &[&str]) -> Output {
        let words = [&[crate::common::program(), "levers"], words].concat();
        self.command(&words).output().unwrap()
    }

    /// The JSON of a command of `linerate levers` that must succeed.
    fn json(&self, words: &[&str]) -> Value {
        let output = self.levers(&[words, &["--json"]].concat());
        assert!(output.status.success(), "{words:?}: {}", errors(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// All levers that there are.
    pub(crate) fn list(&self) -> Vec<Value> {
        let list = self.json(&["list"]);
        list["levers"].as_array().unwrap().clone()
    }

    /// The status of a lever, on the device where it is tried or in the namespace.
    pub(crate) fn status(&self, lever: &str) -> Value {
        self.json(&["status", lever, "--device", device_of(lever)])
    }

    /// The value that a lever has now.
    pub(crate) fn now(&self, lever: &str) -> String {
        let status = self.status(lever);
        status["levers"][0]["now"].as_str().unwrap().to_owned()
    }

    /// Sets a lever, on the device where it is tried or in the namespace; `words` are its name and
    /// flags.
    pub(crate) fn apply(&self, words: &[&str]) -> Value {
        self.json(&[&["apply", "--device", device_of(words[0])], words].concat())
    }

    /// Puts a lever back, or all of them.
    pub(crate) fn undo(&self, words: &[&str]) -> Vec<Value> {
        let undone = self.json(&[&["undo"], words].concat());
        undone["undone"].as_array().unwrap().clone()
    }

    /// Puts a lever back although something else stays changed, which the exit code says.
    pub(crate) fn undo_leaving(&self, code: i32, lever: &str) {
        let output = self.levers(&["undo", lever]);
        assert_eq!(output.status.code(), Some(code), "{}", errors(&output));
    }

    /// All that the levers could change.
    pub(crate) fn state(&self) -> String {
        let files = self.prints(&["sh", "-c", STATE]);
        files + &self.asks_kernel("all", "bench0", &[])
    }

    /// How long the interrupts of each NAPI of a device may stay off, in the order of their ids.
    pub(crate) fn suspensions(&self, device: &str) -> String {
        self.asks_kernel("suspensions", device, &[])
    }

    /// What the kernel reports about a device over netlink, or accepts for it.
    pub(crate) fn asks_kernel(&self, what: &str, device: &str, words: &[&str]) -> String {
        let index = self.holds(&format!("/sys/class/net/{device}/ifindex"));
        self.prints(&[&["python3", "-c", ASK_KERNEL, what, &index], words].concat())
    }

    /// The text of a kernel file.
    pub(crate) fn holds(&self, file: &str) -> String {
        self.prints(&["cat", file]).trim().to_owned()
    }

    pub(crate) fn writes(&self, file: &str, text: &str) {
        self.prints(&["sh", "-c", &format!("echo '{text}' > {file}")]);
    }

    /// The entries of the journal: what is set and not yet put back.
    pub(crate) fn journal(&self) -> Vec<Value> {
        let journal = self.json(&["journal"]);
        journal["entries"].as_array().unwrap().clone()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}
