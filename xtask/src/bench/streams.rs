//! Laps of streams between the hosts of a rig: their rate and the CPU time of both ends, and the
//! round trips beside a stream.

use std::process::Stdio;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::rig::{DEVICE, Ended, Rig, SERVER};
use crate::commands::said;

/// Port of streams, and that of sockperf's datagrams.
const PORT: u16 = 5201;
const TRIPS_PORT: u16 = 5202;
/// Seconds for which a narrow link is loaded. iperf3 loads it for longer, as sockperf takes two
/// seconds to begin.
const SECONDS: u32 = 5;
const LONGER_SECONDS: u32 = 12;

/// `lap stream PROGRAM SHAPE LINERATE`: the CPU time of both processes per GB received, and Gbit/s.
pub(super) fn lap(program: &str, shape: &str, linerate: &str) -> anyhow::Result<Value> {
    let shape = match shape {
        "1" => "-P 1",
        "8" => "-P 8",
        "64b" => "-u -b 0 -l 64",
        _ => bail!("`{shape}` is nothing to send"),
    };
    let (server, client) = match program {
        "iperf3" => ("iperf3 -s -1".to_owned(), format!("iperf3 -c {SERVER} -J")),
        _ => ours(linerate, "--iperf3-json"),
    };
    let copying = match program {
        "stream-copy" => " --receive copy",
        _ => "",
    };
    let rig = Rig::up(linerate)?;
    let server = rig.server(&server, "tcp", PORT)?;
    let mut client = rig.on("client", &format!("{client} -t 1 {shape}{copying}"))?;
    let mut client = client.stdout(Stdio::piped()).spawn()?;
    let said = std::io::read_to_string(client.stdout.take().context("its output")?)?;
    let client_ns = sys::usage::wait(client)?.cpu_ns();
    let server_ns = server.cpu_ns()?;
    let said: Value = serde_json::from_str(&said)?;
    let received = &said["end"]["sum_received"];
    let number = |name: &str| {
        received[name]
            .as_f64()
            .with_context(|| format!("{program} said {said}"))
    };
    Ok(json!({
        "ends": (client_ns + server_ns) as f64 / number("bytes")?,
        "rate": number("bits_per_second")? / 1e9,
    }))
}

/// The command lines of our listener and its client.
fn ours(linerate: &str, flags: &str) -> (String, String) {
    (
        format!("{linerate} stream --quiet --listen {SERVER}:{PORT}"),
        format!("{linerate} stream --quiet {SERVER}:{PORT} {flags}"),
    )
}

/// `lap latency PROGRAM LINERATE`: the median round trip, ms, beside one TCP stream with CUBIC,
/// which fills a queue of 51 ms in front of a link of 20 Mbit/s.
pub(super) fn latency(program: &str, linerate: &str) -> anyhow::Result<Value> {
    let rig = Rig::up(linerate)?;
    let narrow =
        format!("tc qdisc replace dev {DEVICE} root tbf rate 20mbit burst 3200 limit 128000");
    said(&mut rig.on("client", &narrow)?)?;
    let median_us = match program {
        "stream" => by_stream(&rig, linerate)?,
        "sockperf" => by_sockperf(&rig)?,
        _ => bail!("`{program}` times no round trips"),
    };
    Ok(json!({ "loaded": median_us / 1e3 }))
}

fn by_stream(rig: &Rig<'_>, linerate: &str) -> anyhow::Result<f64> {
    let (server, client) = ours(linerate, "--latency --json");
    let _server = rig.server(&server, "tcp", PORT)?;
    let said = said(&mut rig.on("client", &format!("{client} -C cubic -t {SECONDS}"))?)?;
    let said: Value = serde_json::from_str(&said)?;
    let median = said["latency"]["loaded"]["p50"].as_f64();
    median.with_context(|| format!("no round trips in {said}"))
}

/// Median round trip, µs, as sockperf measures it beside iperf3's load, with as many round trips a
/// second as `--latency`.
fn by_sockperf(rig: &Rig<'_>) -> anyhow::Result<f64> {
    let _sink = rig.server("iperf3 -s -1", "tcp", PORT)?;
    let place = format!("-i {SERVER} -p {TRIPS_PORT}");
    let _server = rig.server(&format!("sockperf server {place}"), "udp", TRIPS_PORT)?;
    let load = format!("iperf3 -c {SERVER} -C cubic -t {LONGER_SECONDS}");
    let _load = Ended(Some(
        rig.on("client", &load)?.stdout(Stdio::null()).spawn()?,
    ));
    let client =
        format!("sockperf under-load {place} -t {SECONDS} --mps 100 --reply-every 1 --full-rtt");
    let said = said(&mut rig.on("client", &client)?)?;
    let mut lines = said.lines();
    let median = lines.find_map(|line| line.split_once("percentile 50.000 ="));
    let (_, median) = median.with_context(|| format!("no median in {said}"))?;
    Ok(median.trim().parse()?)
}
