//! `linerate load` beside wrk, both against the same nginx.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use sys::process::ChildSetup;

use super::nginx::Nginx;
use super::pairs::Comparison;
use super::{CLIENT_CPU, CONNECTIONS, SERVER_CPU};

/// Highest ratio to wrk's CPU per request.
const BAR: f64 = 0.80;

/// Throughput mode: no latency, answers moved in batches.
pub(crate) fn throughput_mode(linerate: &Path) -> anyhow::Result<Comparison> {
    compare(linerate, "throughput mode", &["--throughput"])
}

/// The default: each request by itself, its latency recorded, as wrk does.
pub(crate) fn latency_mode(linerate: &Path) -> anyhow::Result<Comparison> {
    compare(linerate, "latency recorded", &[])
}

fn compare(linerate: &Path, mode: &str, flags: &[&str]) -> anyhow::Result<Comparison> {
    let nginx = Nginx::start(SERVER_CPU)?;
    let url = format!("http://127.0.0.1:{}/json", nginx.port);
    let common = ["-c", CONNECTIONS, "-t", "1", "-d", "1s", &url];
    let program = linerate.to_str().context("the program's path")?;
    let ours = [&[program, "load", "--json"], flags, &common].concat();
    let peers = [&["wrk"][..], &common].concat();
    Comparison::measure(
        &format!("load generator, {mode}, 64 connections, against nginx: whole process"),
        BAR,
        [ours.join(" "), peers.join(" ")],
        || cpu_us_per_request(&ours, ours_answered),
        || cpu_us_per_request(&peers, wrk_answered),
    )
}

fn cpu_us_per_request(command: &[&str], answered: fn(&str) -> Option<u64>) -> anyhow::Result<f64> {
    let mut client = Command::new(command[0]);
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
    let mut child = client.spawn().with_context(|| command[0].to_owned())?;
    let output = child.stdout.take().context("standard output")?;
    let output = std::io::read_to_string(output)?;
    let usage = sys::usage::wait(child)?;
    ensure!(
        usage.status.success(),
        "{} failed: {output}",
        command.join(" ")
    );
    let answered = answered(&output).with_context(|| format!("no count in: {output}"))?;
    Ok(usage.cpu_ns() as f64 / 1e3 / answered as f64)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_found_in_both_outputs() {
        let wrk = "Running 1s test\n  57843 requests in 1.00s, 9.10MB read\nRequests/sec: 57766.14";
        assert_eq!(wrk_answered(wrk), Some(57843));
        assert_eq!(ours_answered("{\"sent\": 12, \"answered\": 11}"), Some(11));
    }
}
