//! `cargo xtask bench`: our instruments beside the tools they replace, in interleaved pairs,
//! by CPU time per request and by the rate they report. The peers are Debian's nginx and wrk.

mod client;
mod link;
mod nginx;
mod pairs;
mod server;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use pairs::Comparison;

/// Connections of every comparison.
const CONNECTIONS: &str = "64";
/// The client's CPU, and the server's.
const CLIENT_CPU: usize = 0;
const SERVER_CPU: usize = 1;

/// The comparisons, by name.
const BENCHES: [(&str, Bench); 5] = [
    ("client-rate", client::rate),
    ("client-throughput", client::throughput_mode),
    ("client-latency", client::latency_mode),
    ("server", server::run),
    ("server-engines", server::engines),
];
/// The accuracy of emulated links, which is held against what was asked for.
const LINK: &str = "link";

/// Runs every comparison whose name holds `filter`; true when each keeps its bar.
pub(crate) fn run(filter: &str) -> anyhow::Result<bool> {
    let names = || BENCHES.map(|(name, _)| name).into_iter().chain([LINK]);
    if !names().any(|name| name.contains(filter)) {
        let names: Vec<&str> = names().collect();
        bail!(
            "no bench is called `{filter}`; there are {}",
            names.join(", ")
        );
    }
    let linerate = crate::target::release()?;
    println!("{}", versions(&linerate)?);
    let mut kept = true;
    for (name, bench) in BENCHES {
        if name.contains(filter) {
            let comparison = bench(&linerate)?;
            println!("{comparison}");
            kept &= comparison.keeps_its_bar();
        }
    }
    if LINK.contains(filter) {
        kept &= link::run(&linerate)?;
    }
    Ok(kept)
}

type Bench = fn(&Path) -> anyhow::Result<Comparison>;

fn versions(linerate: &Path) -> anyhow::Result<String> {
    let first_line = |program: &str, argument: &str| -> anyhow::Result<String> {
        let output = Command::new(program)
            .arg(argument)
            .output()
            .with_context(|| program.to_owned())?;
        let text = [output.stdout, output.stderr].concat();
        Ok(String::from_utf8_lossy(&text)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned())
    };
    let linerate = linerate.to_str().context("the program's path")?;
    Ok([
        first_line(linerate, "--version")?,
        first_line("nginx", "-v")?,
        first_line("wrk", "-v")?,
        format!(
            "Linux {}",
            std::fs::read_to_string("/proc/sys/kernel/osrelease")?.trim()
        ),
    ]
    .join("; "))
}
