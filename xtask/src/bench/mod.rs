//! `cargo xtask bench`: our instruments beside the tools they replace, as studies of commands that the
//! program itself runs and judges (`bench/*.toml`). What is left to do here: start the servers, fill in
//! where they are, and hold what came of it against the bars. The peers are Debian's packages, and
//! whatever else a command line starts.

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

/// What is compared, by name.
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
/// The client's CPU, and the server's.
const CLIENT_CPU: usize = 0;
const SERVER_CPU: usize = 1;

/// The accuracy of emulated links, which is held against what was asked for.
const LINK: &str = "link";

/// Runs every comparison that is asked for; true when each keeps what was reached before.
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
