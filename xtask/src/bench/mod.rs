//! `cargo xtask bench`: our instruments beside the tools they replace, in interleaved rounds, by CPU
//! time per unit of work and by the rate they reach. The peers are Debian's packages, and whatever
//! else a command line starts.

mod answers;
mod claim;
mod client;
mod exchange;
mod files;
mod lab;
mod lap;
mod link;
mod memory;
mod options;
mod page;
pub(crate) mod peers;
mod race;
mod server;

use anyhow::bail;

use claim::Tally;
use lab::Lab;
use options::Options;

/// What is compared, by name.
const BENCHES: &[(&str, Bench)] = &[
    ("client-64", |lab| {
        answers::clients(lab, &answers::CLIENTS_64)
    }),
    ("client-512", |lab| {
        answers::clients(lab, &answers::CLIENTS_512)
    }),
    ("server-1", answers::one_connection),
    ("server-64", |lab| {
        answers::servers(lab, &answers::SERVERS_64)
    }),
    ("server-512", |lab| {
        answers::servers(lab, &answers::SERVERS_512)
    }),
    ("file", files::in_the_clear),
    ("https", files::over_tls),
    ("memory", memory::run),
];
/// The client's CPU, and the server's.
const CLIENT_CPU: usize = 0;
const SERVER_CPU: usize = 1;

/// The accuracy of emulated links, which is held against what was asked for.
const LINK: &str = "link";

type Bench = fn(&Lab) -> anyhow::Result<Tally>;

/// Runs every comparison that is asked for; true when each keeps what was reached before.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<bool> {
    let options = Options::parse(arguments)?;
    let wanted = |name: &str| name.contains(&options.filter);
    let names = || BENCHES.iter().map(|(name, _)| *name).chain([LINK]);
    if !names().any(wanted) {
        let names: Vec<&str> = names().collect();
        let filter = &options.filter;
        bail!(
            "no bench is called `{filter}`; there are {}",
            names.join(", ")
        );
    }
    let takes_servers = |name: &str| name.starts_with("server-");
    if !options.against.is_empty() && !names().any(|name| wanted(name) && takes_servers(name)) {
        bail!(
            "--against is for the benches of servers, and `{}` picks none",
            options.filter
        );
    }
    let lab = Lab::new(crate::target::release()?, options.clone())?;
    println!("{}", lab.versions());
    let mut tally = Tally::default();
    for (name, bench) in BENCHES.iter().filter(|(name, _)| wanted(name)) {
        println!("\n{name}");
        tally.add(name, bench(&lab)?);
    }
    println!("{tally}");
    let link_is_true = !wanted(LINK) || link::run(&lab.linerate)?;
    Ok(tally.is_kept() && link_is_true)
}
