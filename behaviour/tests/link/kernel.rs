//! Links that the kernel carries.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::processes::line_of;
use crate::common::{Folder, answer, assert_says, linerate, refusal_of, words};
use crate::link::{count, folder, load_over};

/// Length of an answer: long enough that the rate, not the round trips, limits what is carried.
const MESSAGE_BYTES: usize = 50_000;

/// Bytes that came down in 800 ms of load, by the kernel's count, and how long the command ran, s.
fn carried(folder: &Folder, flags: &[&str]) -> (u64, f64) {
    let message = "x".repeat(MESSAGE_BYTES);
    let server =
        format!("exec ./linerate serve --listen 0.0.0.0:8080 --workers 1 --message {message}");
    let load = format!("{} -c 4 -d 800ms", crate::link::LOAD.replace(" -c 1", ""));
    let ends = ["--server", &server, "--", "sh", "-c", &load];
    let words = [&["link", "--json"], flags, &ends].concat();
    let report: Value = serde_json::from_str(&answer(&mut linerate(folder, &words))).unwrap();
    let seconds = report["elapsed_seconds"].as_f64().unwrap();
    (count(&report, "/down/carried_bytes"), seconds)
}

#[test]
fn a_rate_is_held_by_a_bucket_and_four_times_the_rate_carries_some_four_times_as_much() {
    let folder = folder("link-bucket");
    let at = |rate: &str| carried(&folder, &["--via", "tbf", "--queue", "40", "--down", rate]);
    let ratio = || {
        let (slow, slow_s) = at("rate=8Mbit/s");
        let (fast, _) = at("rate=32Mbit/s");
        // No more than the rate allows, with the bucket full at the start and some time to end.
        assert!(slow as f64 <= 1e6 * (slow_s + 0.5), "{slow} bytes");
        fast as f64 / slow as f64
    };
    // If either end was stopped for a while, it carried less: then two more ratios must be right.
    let some_four = |ratio: &f64| (2.0..=6.0).contains(ratio);
    let first = ratio();
    if !some_four(&first) {
        let ratios = [first, ratio(), ratio()];
        assert!(ratios[1..].iter().all(some_four), "{ratios:?}");
    }
}

#[test]
fn credit_lets_more_through_than_the_rate_at_which_it_is_earned() {
    let folder = folder("link-bucket-credit");
    let (base, _) = carried(&folder, &["--via", "tbf", "--down", "rate=8Mbit/s"]);
    let credit = "credit=burst=200Mbit/s,bucket=4MB,base=8Mbit/s";
    let (with_credit, seconds) = carried(&folder, &["--via", "tbf", "--down", credit]);
    assert!(with_credit > base * 3 / 2, "{base} and {with_credit} bytes");
    let most = 4e6 + 1e6 * (seconds + 0.5);
    assert!(with_credit as f64 <= most, "{with_credit} bytes");
}

/// A link whose command waits until it may end.
struct Waiting(Child);

impl Waiting {
    fn start(folder: &Folder, flags: &[&str]) -> Self {
        let ends = ["--", "sh", "-c", "echo up; read end"];
        let mut command = linerate(folder, &[&["link"], flags, &ends].concat());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let line = line_of(child.stdout.as_mut());
        assert_eq!(line, "up\n");
        Self(child)
    }

    /// What tc(8) prints in the namespace of the link.
    fn tc(&self, words: &[&str]) -> String {
        let carrier = crate::link::carrier(&self.0);
        let place = format!("--net=/proc/{carrier}/ns/net");
        let mut tc = Command::new("nsenter");
        answer(tc.arg(place).arg("tc").args(words))
    }

    fn end(mut self) {
        self.0.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn tc_finds_on_both_ends_what_was_asked_for() {
    crate::common::needs_root!();
    let folder = Folder::new("link-tc");
    let rates = words("--up rate=20Mbit/s --down rate=50Mbit/s --queue 30");
    let link = Waiting::start(&folder, &[&["--via", "tbf"], &rates[..]].concat());
    for (device, rate) in [("lr-server", "rate 20Mbit"), ("lr-client", "rate 50Mbit")] {
        let shaped = link.tc(&["qdisc", "show", "dev", device]);
        for piece in ["tbf", rate, "limit 31p"] {
            assert_says(&shaped, piece);
        }
    }
    link.end();
}

/// Whether the kernel has netem, or could load it, as `linerate facts` reports.
fn netem(folder: &Folder) -> String {
    let facts = answer(&mut linerate(folder, &["facts", "--json"]));
    let facts: Value = serde_json::from_str(&facts).unwrap();
    let parts = facts["kernel"]["parts"].as_array().unwrap();
    let netem = parts.iter().find(|part| part["name"] == "netem").unwrap();
    netem["state"].as_str().unwrap().to_owned()
}

#[test]
fn netem_delays_where_the_kernel_has_it_and_is_named_as_lacking_where_not() {
    let folder = folder("link-netem");
    let flags = ["--via", "netem", "--delay", "20ms"];
    if netem(&folder) == "absent" {
        let words = [&["link"], &flags[..], &["--", "echo", "started"]].concat();
        let words = refusal_of(&mut linerate(&folder, &words));
        assert_says(&words, "this kernel has no netem");
        assert!(words.contains("`userspace`"));
    } else {
        let (output, report) = load_over(&folder, &flags, "-d 600ms --json");
        assert_eq!(output.status.code(), Some(0));
        // A round trip takes 40 ms: no more than 16 answers, and the last, which is under way.
        assert!(count(&report, "/down/carried_packets") < 100);
    }
}

#[test]
fn an_ordinary_user_has_a_link_of_the_kernels_too() {
    let folder = Folder::new("link-kernel-nobody");
    let line = "echo $LINERATE_SERVER";
    let words = [
        "link", "--via", "tbf", "--rate", "9Mbit/s", "--", "sh", "-c", line,
    ];
    let said = answer(&mut crate::common::as_nobody::linerate_as_nobody(
        &folder, &words,
    ));
    assert_eq!(said, "198.18.0.2\n");
}
