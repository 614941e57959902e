//! What a server holds for connections that say nothing.

use std::net::TcpStream;

use anyhow::Context as _;

use super::claim::{Bar, Bars, Tally};
use super::lab::Lab;
use super::race::{Columns, Quantity, Race};
use super::server::{Recipe, Server};
use super::{exchange, peers};

/// As many as fit below a limit of 20,000 open files twice.
const CONNECTIONS: usize = 9_000;
/// It varies by pages, not by rounds: as few as an interval of 95 % takes, and some.
const ROUNDS: usize = 8;

/// Memory of a server's processes, kB.
#[derive(Clone, Copy, Default)]
struct Held {
    /// Pages that processes share count once.
    proportional_kb: f64,
    resident_kb: f64,
}

const PROPORTIONAL: Quantity<Held> = Quantity {
    name: "PSS",
    of: |held| held.proportional_kb / 1024.0,
};
const RESIDENT: Quantity<Held> = Quantity {
    name: "RSS",
    of: |held| held.resident_kb / 1024.0,
};
const COLUMNS: Columns<Held> = &[(&PROPORTIONAL, "MiB"), (&RESIDENT, "MiB")];

pub(super) fn run(lab: &Lab) -> anyhow::Result<Tally> {
    let title =
        format!("memory, {CONNECTIONS} idle keep-alive connections, one answer each before");
    let mut race = Race::new(title, COLUMNS);
    for recipe in [peers::serve("serve", ""), peers::nginx()] {
        let (name, shown) = (recipe.name.clone(), vec![recipe.shown()]);
        race.arm(&name, shown, move || held(lab, &recipe));
    }
    for quantity in [&PROPORTIONAL, &RESIDENT] {
        race.claim(quantity, "serve", ["nginx"], Bars::goal(Bar::AtMost(1.0)));
    }
    race.run(lab.options.rounds.min(ROUNDS))
}

/// Of a server that has just been started.
fn held(lab: &Lab, recipe: &Recipe) -> anyhow::Result<Held> {
    let server = Server::start(lab, recipe)?;
    let mut idle = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let mut connection = TcpStream::connect(server.address())?;
        exchange::ask(&mut connection)?;
        idle.push(connection);
    }
    let mut held = Held::default();
    for pid in server.processes() {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        held.proportional_kb += kilobytes(&text, "Pss:")?;
        held.resident_kb += kilobytes(&text, "Rss:")?;
    }
    Ok(held)
}

/// From a line such as `Pss:    1234 kB`.
fn kilobytes(text: &str, name: &str) -> anyhow::Result<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    Ok(number.with_context(|| format!("no {name}"))?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
