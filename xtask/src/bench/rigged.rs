//! Laps between the hosts of a rig, which goes with each: raw frames, and round trips beside a load.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::streams::Ended;

/// What trafgen sends, the headers of ours before bytes that say nothing: it takes about a second.
const FRAMES: u64 = 2_000_000;
const FRAME: &str = "{ 0x02,0,0,0,0,2, 0x02,0,0,0,0,1, c16(0x0800), 0x45,0, c16(50), c32(0), 64,17, c16(0), 198,18,0,1, \
     198,18,0,2, c16(9), c16(9), c16(30), c16(0), fill(0,22) }";
/// The client's device, and the address of the server.
const DEVICE: &str = "lr-server";
const SERVER: &str = "198.18.0.2";
/// 20 Mbit/s, before them a queue of a twentieth of a second, which CUBIC fills.
const NARROW: &str = "tc qdisc replace dev lr-server root tbf rate 20mbit burst 3200 limit 128000";
const CONTROL: &str = "cubic";
/// How long it is loaded.
const SECONDS: &str = "5";
/// And by iperf3, as sockperf takes two seconds to begin.
const LOAD_SECONDS: &str = "12";
/// Round trips a second that are asked for, as `--latency` has about.
const TRIPS: &str = "100";
/// For a server to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// `lap raw PROGRAM LINERATE`: CPU time of the sender for each frame of 64 bytes, µs.
pub(super) fn raw(program: &str, linerate: &str) -> anyhow::Result<Value> {
    let sender = match program {
        "trafgen" => trafgen(linerate)?,
        "packets" => of_ours(linerate, &[])?,
        "packets-ring" => of_ours(linerate, &["--send", "ring:128"])?,
        _ => bail!("`{program}` sends no frames"),
    };
    Ok(json!({ "sender": sender }))
}

/// Of its thread that sends, for each that came.
fn of_ours(linerate: &str, flags: &[&str]) -> anyhow::Result<f64> {
    let words = [&[linerate, "packets", "--raw", "--json"], flags].concat();
    let said: Value = serde_json::from_str(&said(&mut command(&words)?)?)?;
    let ns = said["sender"]["cpu_ns_per_packet"].as_f64();
    Ok(ns.with_context(|| format!("no cost in {said}"))? / 1e3)
}

/// Of its whole process, for each that left.
fn trafgen(linerate: &str) -> anyhow::Result<f64> {
    let rig = Rig::up(linerate)?;
    let count = FRAMES.to_string();
    let words = ["trafgen", "-o", DEVICE, "-n", &count, "-P", "1", FRAME];
    let mut sender = rig.on("client", &words)?;
    let sender = sender.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let used = sys::usage::wait(sender)?;
    ensure!(used.status.success(), "trafgen: {}", used.status);
    let devices = said(&mut rig.on("client", &["cat", "/proc/net/dev"])?)?;
    // Of the sent bytes, packets and so on the second.
    let sent = devices.lines().find_map(|line| {
        let counts = line.trim().strip_prefix(DEVICE)?.strip_prefix(':')?;
        counts.split_whitespace().nth(9)?.parse().ok()
    });
    ensure!(sent == Some(FRAMES), "of {FRAMES} frames {sent:?} left");
    Ok(used.cpu_ns() as f64 / FRAMES as f64 / 1e3)
}

/// `lap latency PROGRAM LINERATE`: the median round trip beside one stream of TCP over a narrow link, ms.
pub(super) fn latency(program: &str, linerate: &str) -> anyhow::Result<Value> {
    let rig = Rig::up(linerate)?;
    said(&mut rig.on("client", &NARROW.split(' ').collect::<Vec<_>>())?)?;
    let loaded = match program {
        "stream" => by_stream(&rig)?,
        "sockperf" => by_sockperf(&rig)?,
        _ => bail!("`{program}` times no round trips"),
    };
    Ok(json!({ "loaded": loaded }))
}

fn by_stream(rig: &Rig<'_>) -> anyhow::Result<f64> {
    let listen = format!("{SERVER}:5201");
    let _server = rig.server(&[rig.linerate, "stream", "--listen", &listen], "tcp", 5201)?;
    let client = [
        rig.linerate,
        "stream",
        &listen,
        "--latency",
        "-C",
        CONTROL,
        "-t",
        SECONDS,
        "--json",
    ];
    let said: Value = serde_json::from_str(&said(&mut rig.on("client", &client)?)?)?;
    let median_us = said["latency"]["loaded"]["p50"].as_f64();
    Ok(median_us.with_context(|| format!("no round trips in {said}"))? / 1e3)
}

/// It times round trips beside iperf3's load.
fn by_sockperf(rig: &Rig<'_>) -> anyhow::Result<f64> {
    let _load_server = rig.server(&["iperf3", "-s", "-1"], "tcp", 5201)?;
    let _server = rig.server(
        &["sockperf", "server", "-i", SERVER, "-p", "5202"],
        "udp",
        5202,
    )?;
    let mut load = rig.on(
        "client",
        &["iperf3", "-c", SERVER, "-C", CONTROL, "-t", LOAD_SECONDS],
    )?;
    let load = Ended(Some(load.stdout(Stdio::null()).spawn()?));
    let client = [
        "sockperf",
        "under-load",
        "-i",
        SERVER,
        "-p",
        "5202",
        "-t",
        SECONDS,
        "--mps",
        TRIPS,
        "--reply-every",
        "1",
        "--full-rtt",
    ];
    let said = said(&mut rig.on("client", &client)?)?;
    drop(load);
    let median = said
        .lines()
        .find_map(|line| line.split_once("percentile 50.000 ="));
    let (_, median_us) = median.with_context(|| format!("no median in {said}"))?;
    Ok(median_us.trim().parse::<f64>()? / 1e3)
}

/// Two hosts and a cable.
struct Rig<'a> {
    linerate: &'a str,
    name: String,
}

impl<'a> Rig<'a> {
    fn up(linerate: &'a str) -> anyhow::Result<Self> {
        let rig = Self {
            linerate,
            name: format!("lap-{}", std::process::id()),
        };
        said(&mut command(&[
            linerate, "rig", "up", "netns", "--name", &rig.name,
        ])?)?;
        Ok(rig)
    }

    /// A program on one of its hosts, which takes the place of what is started.
    fn on(&self, host: &str, words: &[&str]) -> anyhow::Result<Command> {
        let exec = [
            self.linerate,
            "rig",
            "exec",
            "--name",
            &self.name,
            host,
            "--",
        ];
        command(&[&exec, words].concat())
    }

    /// A server on its server, once it listens.
    fn server(&self, words: &[&str], protocol: &str, port: u16) -> anyhow::Result<Ended> {
        let server = Ended(Some(
            self.on("server", words)?.stdout(Stdio::null()).spawn()?,
        ));
        // Some listen by IPv6, which takes both.
        let places = ["", "6"].map(|version| format!("/proc/net/{protocol}{version}"));
        let listens = || {
            let list = self.on("server", &["cat", &places[0], &places[1]]);
            let list = list.and_then(|mut cat| said(&mut cat));
            list.is_ok_and(|list| list.contains(&format!(":{port:04X} ")))
        };
        ensure!(
            sys::clock::wait_until(PATIENCE, listens),
            "{} does not listen",
            words[0]
        );
        Ok(server)
    }
}

impl Drop for Rig<'_> {
    fn drop(&mut self) {
        let clean = command(&[self.linerate, "rig", "clean", &self.name]);
        let _ = clean.and_then(|mut clean| said(&mut clean));
    }
}

/// Its state is beside the lap, as the user of a study has no home; programs of root are looked for too.
fn command(words: &[&str]) -> anyhow::Result<Command> {
    let (program, arguments) = words.split_first().context("no program is given")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("PATH", path + ":/usr/sbin:/sbin")
        .env("XDG_STATE_HOME", std::env::current_dir()?.join("state"))
        .stdin(Stdio::null());
    Ok(command)
}

/// What a program prints that ends well.
fn said(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}
