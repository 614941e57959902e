//! `cargo xtask lap`, the command that the studies of `bench/` run: one client against one server,
//! one server with idle connections, or a stream between the hosts of a rig. It prints the figures
//! as JSON; both ends are measured from outside.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::servers::{self, Server};
use super::{frames, streams};

/// The bytes of the long body.
const FILE_BYTES: u64 = 1 << 30;
/// Twice this number fits below a limit of 20,000 open files.
const IDLE_CONNECTIONS: usize = 9_000;
const BYTES_PER_MIB: f64 = 1024.0 * 1024.0;

/// The work that a client did.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Done {
    /// Requests answered, or kB received, over the client's whole life, as its CPU time is.
    units: f64,
    /// Requests/s or Gbit/s.
    rate: f64,
}

/// `lap PID:PORT CLIENT...`, `lap idle SERVER LINERATE`, `lap stream PROGRAM SHAPE LINERATE`, or
/// `lap raw|latency PROGRAM LINERATE`.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let came_to = match words {
        ["idle", server, linerate] => idle(server, Path::new(linerate))?,
        ["stream", program, shape, linerate] => streams::lap(program, shape, linerate)?,
        ["raw", program, linerate] => frames::lap(program, linerate)?,
        ["latency", program, linerate] => streams::latency(program, linerate)?,
        [server, client @ ..] => {
            let place = server.split_once(':');
            let (pid, port) = place.with_context(|| format!("{server} is not installed"))?;
            one_client(pid.parse()?, port, client)?
        }
        [] => bail!("a lap takes a server and a client"),
    };
    println!("{came_to}");
    Ok(())
}

/// Runs a client to its end and returns CPU times in µs per unit (1 µs per kB is 1 s per GB). They
/// are the kernel's own accounts: that of the whole client process when it ends, the CPU clocks of
/// the server's processes, and those of the kernel's threads that finish what interrupts left over.
/// Other work in interrupts is charged to the process that they interrupted: on loopback mostly the
/// sender.
fn one_client(server: u32, port: &str, client: &[&str]) -> anyhow::Result<Value> {
    let kernel = ksoftirqd()?;
    let clocks = || anyhow::Ok([cpu_ns(&servers::family(server))?, cpu_ns(&kernel)?]);
    let before = clocks()?;
    let (done, client_ns) = finished(client, port)?;
    let after = clocks()?;
    let [server_ns, kernel_ns] = [0, 1].map(|which| after[which].saturating_sub(before[which]));
    ensure!(
        server_ns > 0,
        "{} was answered by other processes than those started",
        client.join(" ")
    );
    let per_unit = |ns: u64| ns as f64 / 1e3 / done.units;
    Ok(json!({
        "ends": per_unit(server_ns + client_ns),
        "server": per_unit(server_ns),
        "client": per_unit(client_ns),
        "ksoftirqd": per_unit(kernel_ns),
        "pair": per_unit(server_ns + client_ns + kernel_ns),
        "rate": done.rate,
    }))
}

/// Runs the client on its CPU; returns what it did and the CPU time that it used, ns.
fn finished(words: &[&str], port: &str) -> anyhow::Result<(Done, u64)> {
    let filled = words
        .iter()
        .map(|word| word.replace("{address}", &format!("127.0.0.1:{port}")));
    let filled: Vec<String> = filled.collect();
    let (program, arguments) = filled.split_first().context("no client is given")?;
    let mut client = Command::new(program);
    client
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    servers::pinned(&mut client, super::CLIENT_CPU);
    let mut child = client.spawn().with_context(|| program.clone())?;
    let output = child.stdout.take().context("standard output")?;
    let output = std::io::read_to_string(output)?;
    let usage = sys::usage::wait(child)?;
    let shown = || format!("{} said: {output}", filled.join(" "));
    ensure!(usage.status.success(), shown());
    Ok((done(words, &output).with_context(shown)?, usage.cpu_ns()))
}

fn cpu_ns(pids: &[u32]) -> anyhow::Result<u64> {
    let each = pids.iter().map(|pid| sys::clock::process_cpu_ns(*pid));
    Ok(each.sum::<Result<u64, _>>()?)
}

/// The kernel's threads that finish network work.
fn ksoftirqd() -> anyhow::Result<Vec<u32>> {
    let is_one = |pid: &u32| {
        let name = sys::kernel_file::text(format!("/proc/{pid}/comm"));
        name.is_some_and(|name| name.starts_with("ksoftirqd/"))
    };
    let names =
        std::fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let pids = names.filter_map(|name| name.parse().ok());
    Ok(pids.filter(is_one).collect())
}

fn done(client: &[&str], output: &str) -> anyhow::Result<Done> {
    match client {
        ["wrk", ..] => wrk_done(output),
        ["curl", ..] => curl_done(output),
        [_, "ask", ..] => ask_done(output),
        [_, "load", ..] if client.contains(&"--download") => download_done(output),
        [_, "load", ..] => load_done(output),
        _ => bail!("nobody knows how to read what {} says", client.join(" ")),
    }
}

/// Reads wrk's lines `  57843 requests in 1.00s, 9.10MB read` and `Requests/sec:  57766.14`. wrk
/// reports failed requests in lines of their own.
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

/// Reads the line `57843 answers in 1.000 s` of the bare client.
fn ask_done(output: &str) -> anyhow::Result<Done> {
    let (answers, rest) = output.split_once(" answers in ").context("no answers")?;
    let seconds = rest.trim().strip_suffix(" s").context("no time")?;
    let (answers, seconds): (f64, f64) = (answers.parse()?, seconds.parse()?);
    Ok(Done {
        units: answers,
        rate: answers / seconds,
    })
}

/// Counts all requests answered, settling included; the rate is that of the scored window.
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

/// Reads curl's three figures: status, bytes, and bytes/s from the start, connecting included, to
/// the last byte.
fn curl_done(output: &str) -> anyhow::Result<Done> {
    let fields: Vec<&str> = output.split_whitespace().collect();
    let [status, bytes, bytes_per_second] = fields[..] else {
        bail!("a field is missing");
    };
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

/// Memory, in MiB, of a server that was just started and holds idle connections, by the kernel's
/// account of its processes. PSS counts pages that they share once.
fn idle(server: &str, linerate: &Path) -> anyhow::Result<Value> {
    let own = std::env::current_exe()?;
    let lab = own.parent().context("the lab")?;
    sys::process::raise_open_file_limit()?;
    let server = Server::start(lab, linerate, &std::env::current_dir()?, server)?;
    let server = server.context("it is not installed")?;
    let mut idle = Vec::with_capacity(IDLE_CONNECTIONS);
    for _ in 0..IDLE_CONNECTIONS {
        let mut connection = TcpStream::connect(server.address())?;
        servers::ask(&mut connection)?;
        idle.push(connection);
    }
    let mut texts = Vec::new();
    for pid in server.processes() {
        texts.push(std::fs::read_to_string(format!(
            "/proc/{pid}/smaps_rollup"
        ))?);
    }
    let all = |name: &str| {
        let each = texts.iter().map(|text| kilobytes(text, name));
        let sum: anyhow::Result<f64> = each.sum();
        sum.map(|kilobytes| kilobytes * 1024.0 / BYTES_PER_MIB)
    };
    Ok(json!({
        "private": all("Private_Clean:")? + all("Private_Dirty:")?,
        "pss": all("Pss:")?,
        "rss": all("Rss:")?,
    }))
}

/// Reads a line such as `Pss:    1234 kB`.
fn kilobytes(text: &str, name: &str) -> anyhow::Result<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    Ok(number.with_context(|| format!("no {name}"))?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_found_in_what_each_client_says() {
        let wrk = "Running 1s test\n  57843 requests in 1.00s, 9.10MB read\nRequests/sec: 57766.14";
        let load =
            r#"{"answered": 11, "throughput_rps": 1.5, "errors": {"unfinished": 4, "reset": 0}}"#;
        let download = r#"{"first_status": 200, "body_bytes": 1073741824, "received_bytes": 3000,
            "throughput_gbit_per_second": 9.5}"#;
        let curl = "200 1073741824 2000000000";
        for (client, output, units, rate) in [
            ("wrk", wrk, 57843.0, 57766.14),
            ("x ask", "300 answers in 1.500 s\n", 300.0, 200.0),
            ("x load", load, 11.0, 1.5),
            ("x load --download", download, 3.0, 9.5),
            ("curl", curl, 1_073_741.824, 16.0),
        ] {
            let words: Vec<&str> = client.split(' ').collect();
            assert_eq!(done(&words, output).unwrap(), Done { units, rate });
        }
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

    #[test]
    fn a_processs_own_memory_is_found_in_what_the_kernel_says() {
        let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
        let (rss, pss) = (
            kilobytes(&text, "Rss:").unwrap(),
            kilobytes(&text, "Pss:").unwrap(),
        );
        assert!(pss > 0.0 && rss >= pss, "{rss} {pss}");
        assert!(kilobytes(&text, "Nothing:").is_err());
    }
}
