//! `linerate load` beside wrk, both against the same nginx.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use sys::process::ChildSetup;
use sys::usage::Usage;

use super::nginx::Nginx;
use super::pairs::{Bar, Comparison};
use super::{CLIENT_CPU, CONNECTIONS, SERVER_CPU};

/// Highest ratio to wrk's CPU per request.
const GOAL: f64 = 0.80;
/// With latency recorded the goal is not reached: three quarters of the time are in the kernel's
/// send path, which wrk pays too. This holds what has been reached (0.873, 0.865 … 0.880).
const REACHED_WITH_LATENCY: f64 = 0.90;

/// Throughput mode: no latency, answers moved in batches.
pub(crate) fn throughput_mode(linerate: &Path) -> anyhow::Result<Comparison> {
    let bar = Bar::AtMost(GOAL);
    compare(linerate, "throughput mode", &["--throughput"], bar)
}

/// The default: each request by itself, its latency recorded, as wrk does.
pub(crate) fn latency_mode(linerate: &Path) -> anyhow::Result<Comparison> {
    let bar = Bar::Ratchet {
        goal: GOAL,
        reached: REACHED_WITH_LATENCY,
    };
    compare(linerate, "latency recorded", &[], bar)
}

/// The rate that each reports in its default mode, as wall time per request: both send the next
/// request of a connection when its answer is in, so both must find the same nginx.
pub(crate) fn rate(linerate: &Path) -> anyhow::Result<Comparison> {
    let nginx = Nginx::start(SERVER_CPU)?;
    let [ours, peers] = commands(linerate, &[], nginx.port)?;
    Comparison::measure(
        "load generator, latency recorded, 64 connections, against nginx: the rate it reports",
        "time per request",
        Bar::Parity,
        [ours.join(" "), peers.join(" ")],
        || us_per_request(&ours, ours_rps),
        || us_per_request(&peers, wrk_rps),
    )
}

fn commands(linerate: &Path, flags: &[&str], port: u16) -> anyhow::Result<[Vec<String>; 2]> {
    let url = format!("http://127.0.0.1:{port}/json");
    let common = ["-c", CONNECTIONS, "-t", "1", "-d", "1s", &url];
    let program = linerate.to_str().context("the program's path")?;
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
    Ok([
        owned([&[program, "load", "--json"], flags, &common].concat()),
        owned([&["wrk"][..], &common].concat()),
    ])
}

fn compare(linerate: &Path, mode: &str, flags: &[&str], bar: Bar) -> anyhow::Result<Comparison> {
    let nginx = Nginx::start(SERVER_CPU)?;
    let [ours, peers] = commands(linerate, flags, nginx.port)?;
    Comparison::measure(
        &format!("load generator, {mode}, 64 connections, against nginx: whole process"),
        "CPU per request",
        bar,
        [ours.join(" "), peers.join(" ")],
        || cpu_us_per_request(&ours, ours_answered),
        || cpu_us_per_request(&peers, wrk_answered),
    )
}

fn cpu_us_per_request(
    command: &[String],
    answered: fn(&str) -> Option<u64>,
) -> anyhow::Result<f64> {
    let (output, usage) = run(command)?;
    let answered = answered(&output).with_context(|| format!("no count in: {output}"))?;
    Ok(usage.cpu_ns() as f64 / 1e3 / answered as f64)
}

fn us_per_request(command: &[String], rps: fn(&str) -> Option<f64>) -> anyhow::Result<f64> {
    let (output, _) = run(command)?;
    let rps = rps(&output).with_context(|| format!("no rate in: {output}"))?;
    Ok(1e6 / rps)
}

/// Runs a client on its CPU, and returns what it said and what it used.
fn run(command: &[String]) -> anyhow::Result<(String, Usage)> {
    let mut client = Command::new(&command[0]);
    client
        .args(&command[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    sys::process::prepare_child(
        &mut client,
        ChildSetup {
            cpus: vec![CLIENT_CPU],
            ..ChildSetup::default()
        },
    );
    let mut child = client.spawn().with_context(|| command[0].clone())?;
    let output = child.stdout.take().context("standard output")?;
    let output = std::io::read_to_string(output)?;
    let usage = sys::usage::wait(child)?;
    ensure!(
        usage.status.success(),
        "{} failed: {output}",
        command.join(" ")
    );
    Ok((output, usage))
}

/// All requests answered, settling included, since the CPU time includes it too.
fn ours_answered(output: &str) -> Option<u64> {
    let (_, rest) = output.split_once("\"answered\":")?;
    let digits: String = rest
        .trim_start()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// From wrk's line `  57843 requests in 1.00s, 9.10MB read`.
pub(super) fn wrk_answered(output: &str) -> Option<u64> {
    let line = output.lines().find(|line| line.contains(" requests in "))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Over the scored window.
fn ours_rps(output: &str) -> Option<f64> {
    let report: serde_json::Value = serde_json::from_str(output).ok()?;
    report["throughput_rps"].as_f64()
}

/// From wrk's line `Requests/sec:  57766.14`.
fn wrk_rps(output: &str) -> Option<f64> {
    let rest = output
        .lines()
        .find_map(|line| line.strip_prefix("Requests/sec:"))?;
    rest.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_found_in_both_outputs() {
        let wrk = "Running 1s test\n  57843 requests in 1.00s, 9.10MB read\nRequests/sec: 57766.14";
        assert_eq!(wrk_answered(wrk), Some(57843));
        assert_eq!(wrk_rps(wrk), Some(57766.14));
        assert_eq!(ours_rps("{\"throughput_rps\": 1.5}"), Some(1.5));
        assert_eq!(ours_answered("{\"sent\": 12, \"answered\": 11}"), Some(11));
    }
}
