//! A lap that sends raw frames from one host of a rig.

use std::process::Stdio;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::rig::{DEVICE, Rig, command};
use crate::commands::said;

/// Frames that trafgen sends, with our headers and a payload of zeros. They take about a second.
const FRAMES: u64 = 2_000_000;
const FRAME: &str = "{0x02,0,0,0,0,2,0x02,0,0,0,0,1,c16(0x0800),0x45,0,c16(50),c32(0),64,17,c16(0),198,18,0,1,198,18,0,2,\
     c16(9),c16(9),c16(30),c16(0),fill(0,22)}";

/// `lap raw PROGRAM LINERATE`: CPU time of the sender per frame of 64 bytes, µs.
pub(super) fn lap(program: &str, linerate: &str) -> anyhow::Result<Value> {
    let sender = match program {
        "trafgen" => trafgen(linerate)?,
        "packets" => ours(linerate, "segments:64")?,
        "packets-ring" => ours(linerate, "ring:128")?,
        _ => bail!("`{program}` sends no frames"),
    };
    Ok(json!({ "sender": sender }))
}

/// CPU time of `linerate packets`' sending thread per frame that arrived, µs.
fn ours(linerate: &str, send: &str) -> anyhow::Result<f64> {
    let line = format!("{linerate} packets --raw --send {send} --json");
    let said: Value = serde_json::from_str(&said(&mut command(&line)?)?)?;
    let ns = said["sender"]["cpu_ns_per_packet"].as_f64();
    Ok(ns.with_context(|| format!("no cost in {said}"))? / 1e3)
}

/// CPU time of trafgen's whole process per frame that left, µs.
fn trafgen(linerate: &str) -> anyhow::Result<f64> {
    let rig = Rig::up(linerate)?;
    let mut sender = rig.on(
        "client",
        &format!("trafgen -o {DEVICE} -n {FRAMES} -P 1 {FRAME}"),
    )?;
    let sender = sender.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let used = sys::usage::wait(sender)?;
    ensure!(used.status.success(), "trafgen: {}", used.status);
    let devices = said(&mut rig.on("client", "cat /proc/net/dev")?)?;
    // The bytes and the packets that left follow eight counters of what came.
    let sent = devices.lines().find_map(|line| {
        let counts = line.trim().strip_prefix(DEVICE)?.strip_prefix(':')?;
        counts.split_whitespace().nth(9)?.parse().ok()
    });
    ensure!(sent == Some(FRAMES), "of {FRAMES} frames {sent:?} left");
    Ok(used.cpu_ns() as f64 / FRAMES as f64 / 1e3)
}
