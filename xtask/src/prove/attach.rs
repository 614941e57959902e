//! Measures what it costs Debian's nginx that `linerate explain --pid` observes it for ten seconds:
//! the CPU time of its processes at a constant rate, in pairs with and without observation, in
//! random order.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use model::random::SplitMix64;

use crate::bench::lab::Lab as Servers;
use crate::bench::servers::Server;
use crate::commands::output;

use super::{Lab, Proof};

/// Number of pairs, unless the environment variable gives another.
const PAIRS: usize = 24;
const SEED: u64 = 20;
/// Requests a second: they take a good part of a CPU, and far from all of it.
const RATE: &str = "10000";
/// Largest share of the server's CPU time that the observation may take.
const MOST: f64 = 0.01;
/// Two-sided error of the interval.
const ALPHA: f64 = 0.05;

pub(super) fn proof(lab: &Lab) -> anyhow::Result<Proof> {
    let servers = Servers::new(lab.linerate.clone())?;
    fs::write(servers.path("root").join("hello.txt"), "Hello, World!\n")?;
    let nginx = servers.start("nginx")?.context("nginx is not installed")?;
    let load = SteadyLoad::on(lab, &format!("http://{}/hello.txt", nginx.address()))?;
    let mut random = SplitMix64::new(SEED);
    let (mut ratios, mut own_shares) = (Vec::new(), Vec::new());
    for _ in 0..super::runs(PAIRS)? {
        let is_first = random.bits() & 1 == 0;
        let before = (!is_first).then(|| per_second(&nginx, quiet)).transpose()?;
        let mut share = 0.0;
        let with = per_second(&nginx, || {
            share = looked_at(lab, &nginx)?;
            Ok(())
        })?;
        let without = before.map_or_else(|| per_second(&nginx, quiet), Ok)?;
        ratios.push((with / without).ln());
        own_shares.push(share);
    }
    drop(load);
    let cost = judge::signed_rank::effect(&ratios, ALPHA).context("too few pairs")?;
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let own_share = judge::median::of(&own_shares).unwrap_or_default();
    Ok(Proof {
        claim: format!(
            "ten seconds of `explain --pid` take at most {:.0} % of nginx's CPU time at {RATE} requests/s by their own account, which pairs of nginx's own clock do not contradict",
            MOST * 100.0
        ),
        seen: format!(
            "{:+.2} % ({:+.2} … {:+.2}) by {} pairs; by its own account {:.2} % in the median",
            percent(cost.ratio),
            percent(cost.low),
            percent(cost.high),
            cost.n,
            own_share * 100.0
        ),
        // On a shared machine pairs resolve 3 % at best: enough to contradict an account that is
        // far too low.
        held: cost.low <= 1.0 + MOST && own_share > 0.0 && own_share <= MOST,
    })
}

/// Waits as long as a look takes, with its start and its end.
fn quiet() -> anyhow::Result<()> {
    sys::clock::wait_for_long(Duration::from_secs(13), || sys::stop::heard().is_some());
    Ok(())
}

/// Observes nginx and returns the share of its CPU time that the observation took by its own
/// account.
fn looked_at(lab: &Lab, nginx: &Server) -> anyhow::Result<f64> {
    let pid = nginx
        .processes()
        .into_iter()
        .min()
        .context("it has ended")?;
    let mut command = Command::new(&lab.linerate);
    command.args([
        "explain",
        "--pid",
        &pid.to_string(),
        "--for",
        "10s",
        "--json",
    ]);
    let said = output(command.current_dir(lab.folder()))?;
    let said: serde_json::Value = serde_json::from_slice(&said)?;
    let cost = &said["explanation"]["cost"];
    let ns = |name: &str| cost[name].as_f64().context("it says nothing of its cost");
    Ok(ns("within_ns")? / ns("program_ns")?.max(1.0))
}

/// CPU seconds that all processes of a server use per second while `doing` runs.
fn per_second(server: &Server, doing: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let (begun, before) = (sys::clock::now(), cpu_ns(server)?);
    doing()?;
    let spent = cpu_ns(server)? - before;
    Ok(spent as f64 / begun.elapsed().as_nanos() as f64)
}

fn cpu_ns(server: &Server) -> anyhow::Result<u64> {
    let of_process = |pid: u32| Ok(sys::clock::process_cpu_ns(pid)?);
    server.processes().into_iter().map(of_process).sum()
}

/// A load that goes on until this is dropped.
struct SteadyLoad(Child);

impl SteadyLoad {
    fn on(lab: &Lab, url: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(&lab.linerate);
        command.args(["load", url, "--rate", RATE, "--duration", "24h", "-c", "16"]);
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut load = Self(quiet.current_dir(lab.folder()).spawn()?);
        let has_ended = sys::clock::wait_until(Duration::from_secs(1), || {
            !matches!(load.0.try_wait(), Ok(None))
        });
        ensure!(!has_ended, "the load has ended");
        Ok(load)
    }
}

impl Drop for SteadyLoad {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
