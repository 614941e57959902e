//! `cargo xtask bench`: compares our instruments with the tools they replace, in studies of
//! commands (`bench/*.toml`) that the program itself runs and judges. This module starts the
//! servers, fills their addresses in, and compares the results with the bars. The peers are
//! Debian's packages, and the servers that the command line names.

mod bars;
mod frames;
pub(crate) mod lab;
pub(crate) mod lap;
mod link;
mod options;
mod rig;
pub(crate) mod servers;
mod streams;
mod study;

use anyhow::bail;

use bars::Tally;
use lab::Lab;
use options::Options;
use study::Bench;

use crate::target;

/// The comparisons, by name.
const BENCHES: [Bench; 13] = [
    Bench::new("client-64", study::CLIENT, "64"),
    Bench::new("client-512", study::CLIENT, "512"),
    Bench::new("server-1", study::SERVER, "1"),
    Bench::new("server-64", study::SERVER, "64"),
    Bench::new("server-512", study::SERVER, "512"),
    Bench::new("file", study::FILE, "1"),
    Bench::new("https", study::HTTPS, "1"),
    Bench::new("memory", study::MEMORY, "9000"),
    Bench::new("stream-1", study::STREAM, "1"),
    Bench::new("stream-8", study::STREAM, "8"),
    Bench::new("stream-64b", study::DATAGRAMS, "64b"),
    Bench::new("raw", study::RAW, "1"),
    Bench::new("latency", study::LATENCY, "1"),
];
/// CPU that the client is pinned to, and the server's.
const CLIENT_CPU: usize = 0;
const SERVER_CPU: usize = 1;

/// Name of the bench of emulated links, which compares them with what was asked for.
const LINK: &str = "link";

/// Runs every comparison that is asked for; true when none loses what was reached before and the
/// links meet their bars.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<bool> {
    let options = Options::parse(arguments)?;
    let wanted = |name: &str| name.contains(&options.filter);
    let benches: Vec<&Bench> = BENCHES.iter().filter(|bench| wanted(bench.name)).collect();
    if benches.is_empty() && !wanted(LINK) {
        let names = BENCHES.map(|bench| bench.name).join(", ");
        bail!(
            "no bench is called `{}`; there are {names}, {LINK}",
            options.filter
        );
    }
    if !options.against.is_empty() && !benches.iter().any(|bench| bench.takes_servers()) {
        bail!(
            "--against is for the benches of servers, and `{}` picks none",
            options.filter
        );
    }
    let lab = Lab::new(target::program(target::PACKAGED)?)?;
    lab.print_versions()?;
    let mut tally = Tally::default();
    for bench in benches {
        bench.run(&lab, &options, &mut tally)?;
    }
    println!("{tally}");
    let link_is_true = !wanted(LINK) || link::run(&lab.linerate)?;
    Ok(tally.is_kept() && link_is_true)
}
