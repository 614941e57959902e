//! The clients: what is run, and what is read from what they say.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use sys::usage::Usage;

use super::CLIENT_CPU;
use super::server::{Server, pinned};

/// What a client did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Done {
    /// Requests answered, or kB received: all of them, since its CPU time is of all of them.
    pub(super) units: f64,
    /// Requests/s or Gbit/s.
    pub(super) rate: f64,
}

/// A client program with its arguments, but for the URL, which stands last.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) command: Vec<String>,
    scheme: &'static str,
    path: &'static str,
    read: fn(&str) -> anyhow::Result<Done>,
}

/// The long body, and how many bytes it has.
pub(super) const FILE: &str = "big.bin";
pub(super) const FILE_BYTES: u64 = 1 << 30;

impl Client {
    /// One thread, a second.
    pub(super) fn wrk(connections: &str) -> Self {
        Self {
            command: words(&["wrk", "-t", "1", "-c", connections, "-d", "1s"]),
            scheme: "http",
            path: "json",
            read: wrk_done,
        }
    }

    /// The same of ours.
    pub(super) fn load(connections: &str, flags: &[&str]) -> Self {
        let plan = [
            "linerate",
            "load",
            "--json",
            "-t",
            "1",
            "-c",
            connections,
            "-d",
            "1s",
            "--settle",
            "100ms",
        ];
        Self {
            command: words(&[&plan, flags].concat()),
            scheme: "http",
            path: "json",
            read: load_done,
        }
    }

    /// The bare client, for answers of that length.
    pub(super) fn ask(connections: &str, answer_bytes: usize) -> Self {
        let plan = ["linerate", "ask", "-c", connections, "-d", "1s"];
        let answer = ["--answer-bytes", &answer_bytes.to_string()];
        Self {
            command: words(&[&plan[..], &answer].concat()),
            scheme: "http",
            path: "json",
            read: ask_done,
        }
    }

    /// A body from its first byte to its last.
    pub(super) fn curl(scheme: &'static str, flags: &[&str]) -> Self {
        let plan = ["curl", "-sS", "-o", "/dev/null", "-w", CURL_FORMAT];
        Self {
            command: words(&[&plan, flags].concat()),
            scheme,
            path: FILE,
            read: curl_done,
        }
    }

    /// As many bodies as come in a second.
    pub(super) fn download(scheme: &'static str, flags: &[&str]) -> Self {
        let plan = [
            "linerate",
            "load",
            "--json",
            "--download",
            "--settle",
            "0s",
            "-d",
            "1s",
        ];
        Self {
            command: words(&[&plan, flags].concat()),
            scheme,
            path: FILE,
            read: download_done,
        }
    }

    /// For readers.
    pub(super) fn shown(&self) -> String {
        self.command.join(" ")
    }

    /// Runs it on its CPU; what it did, and what it used.
    pub(super) fn run(&self, linerate: &Path, server: &Server) -> anyhow::Result<(Done, Usage)> {
        let (scheme, address, path) = (self.scheme, server.address(), self.path);
        let program = match self.command[0].as_str() {
            "linerate" => linerate,
            other => Path::new(other),
        };
        let mut client = Command::new(program);
        client
            .args(&self.command[1..])
            .arg(format!("{scheme}://{address}/{path}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        pinned(&mut client, CLIENT_CPU);
        let mut child = client.spawn().with_context(|| self.command[0].clone())?;
        let output = child.stdout.take().context("standard output")?;
        let output = std::io::read_to_string(output)?;
        let usage = sys::usage::wait(child)?;
        ensure!(usage.status.success(), "{} failed: {output}", self.shown());
        let done = (self.read)(&output);
        Ok((
            done.with_context(|| format!("{} said: {output}", self.shown()))?,
            usage,
        ))
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// From its lines `  57843 requests in 1.00s, 9.10MB read` and `Requests/sec:  57766.14`. Of
/// answers that are none it tells in lines of their own.
fn wrk_done(output: &str) -> anyhow::Result<Done> {
    let trouble = ["Non-2xx", "Socket errors"];
    let trouble = trouble.iter().find(|words| output.contains(*words));
    ensure!(trouble.is_none(), "not all went well");
    let mut lines = output.lines();
    let count = lines.find_map(|line| line.split_once(" requests in ").map(|(count, _)| count));
    let rate = lines.find_map(|line| line.strip_prefix("Requests/sec:"));
    Ok(Done {
        units: count.context("no count of requests")?.trim().parse()?,
        rate: rate.context("no rate")?.trim().parse()?,
    })
}

/// From its line `57843 answers in 1.000 s`.
fn ask_done(output: &str) -> anyhow::Result<Done> {
    let (answers, rest) = output.split_once(" answers in ").context("no answers")?;
    let seconds = rest.trim().strip_suffix(" s").context("no time")?;
    let (answers, seconds): (f64, f64) = (answers.parse()?, seconds.parse()?);
    Ok(Done {
        units: answers,
        rate: answers / seconds,
    })
}

/// All requests answered, settling included; the rate is that of the scored window.
fn load_done(output: &str) -> anyhow::Result<Done> {
    let report: Value = serde_json::from_str(output)?;
    let failed = report["errors"].as_object().context("no errors")?;
    let failed = failed.iter().filter(|(kind, _)| *kind != "unfinished");
    let failed: u64 = failed.filter_map(|(_, count)| count.as_u64()).sum();
    ensure!(failed == 0, "not all went well");
    Ok(Done {
        units: number(&report, "answered")?,
        rate: number(&report, "throughput_rps")?,
    })
}

const CURL_FORMAT: &str = "%{http_code} %{size_download} %{speed_download}";

/// Status, bytes, and bytes/s from the start to the last byte, connecting included.
fn curl_done(output: &str) -> anyhow::Result<Done> {
    let mut fields = output.split_whitespace();
    let mut field = || fields.next().context("a field is missing");
    let (status, bytes, bytes_per_second) = (field()?, field()?, field()?);
    ensure!(
        status == "200" && bytes.parse() == Ok(FILE_BYTES),
        "not the whole file"
    );
    Ok(Done {
        units: bytes.parse::<f64>()? / 1e3,
        rate: bytes_per_second.parse::<f64>()? * 8.0 / 1e9,
    })
}

fn download_done(output: &str) -> anyhow::Result<Done> {
    let report: Value = serde_json::from_str(output)?;
    ensure!(
        report["first_status"] == 200 && report["body_bytes"] == FILE_BYTES,
        "not the file"
    );
    Ok(Done {
        units: number(&report, "received_bytes")? / 1e3,
        rate: number(&report, "throughput_gbit_per_second")?,
    })
}

fn number(report: &Value, key: &str) -> anyhow::Result<f64> {
    report[key].as_f64().with_context(|| format!("no {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_found_in_what_each_client_says() {
        let wrk = "Running 1s test\n  57843 requests in 1.00s, 9.10MB read\nRequests/sec: 57766.14";
        assert_eq!(
            wrk_done(wrk).unwrap(),
            Done {
                units: 57843.0,
                rate: 57766.14
            }
        );
        let asked = Done {
            units: 300.0,
            rate: 200.0,
        };
        assert_eq!(ask_done("300 answers in 1.500 s\n").unwrap(), asked);
        let load =
            r#"{"answered": 11, "throughput_rps": 1.5, "errors": {"unfinished": 4, "reset": 0}}"#;
        assert_eq!(
            load_done(load).unwrap(),
            Done {
                units: 11.0,
                rate: 1.5
            }
        );
        let curl = curl_done("200 1073741824 2000000000").unwrap();
        assert_eq!(
            curl,
            Done {
                units: 1_073_741.824,
                rate: 16.0
            }
        );
        let download = r#"{"first_status": 200, "body_bytes": 1073741824, "received_bytes": 3000,
            "throughput_gbit_per_second": 9.5}"#;
        assert_eq!(
            download_done(download).unwrap(),
            Done {
                units: 3.0,
                rate: 9.5
            }
        );
    }

    #[test]
    fn what_did_not_go_well_gives_no_figure() {
        let wrk = "  5 requests in 1.00s, 1MB read\n  Non-2xx or 3xx responses: 5\nRequests/sec: 5";
        assert!(wrk_done(wrk).is_err());
        assert!(
            load_done(r#"{"answered": 1, "throughput_rps": 1, "errors": {"reset": 1}}"#).is_err()
        );
        assert!(curl_done("206 1073741824 1").is_err() && curl_done("200 5 1").is_err());
        assert!(download_done(r#"{"first_status": 404, "body_bytes": 9}"#).is_err());
    }
}
