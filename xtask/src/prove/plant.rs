//! What a request costs a server with a planted busy loop: measured by that server, with the clock of the
//! thread that serves, while a client loads it as a study would.

use std::process::Command;

use anyhow::Context as _;

use super::Lab;
use crate::commands::said;

const TIME: &str = include_str!("plant.sh");

/// CPU time of a request.
#[derive(Debug, PartialEq)]
pub(super) struct Planted {
    pub(super) loop_ns: f64,
    /// With the loop.
    pub(super) all_ns: f64,
}

/// What a request costs a server that goes round the loop so often for each, here and now.
pub(super) fn time(lab: &Lab, rounds: u64) -> anyhow::Result<Planted> {
    let cpus = sys::cpu::allowed()?;
    let (server_cpu, client_cpu) = cpus.first().zip(cpus.last()).context("no CPU")?;
    let mut shell = Command::new("sh");
    shell.args(["-c", TIME, "sh"]).arg(&lab.linerate);
    shell.args([
        rounds.to_string(),
        server_cpu.to_string(),
        client_cpu.to_string(),
    ]);
    let words = said(&mut shell)?;
    told(&words).with_context(|| format!("the server told of no plant: {words}"))
}

/// The figures in `planted: N ns of M ns of CPU time a request`.
fn told(words: &str) -> Option<Planted> {
    let figures = words
        .lines()
        .find_map(|line| line.strip_prefix("planted: "))?
        .strip_suffix(" ns of CPU time a request")?;
    let (loop_ns, all_ns) = figures.split_once(" ns of ")?;
    Some(Planted {
        loop_ns: loop_ns.parse().ok()?,
        all_ns: all_ns.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_found_among_the_remarks_of_a_server() {
        let words = "engine epoll: why\nplanted: 500.0 ns of 4500.0 ns of CPU time a request\n";
        let planted = Planted {
            loop_ns: 500.0,
            all_ns: 4500.0,
        };
        assert_eq!(told(words), Some(planted));
        assert_eq!(told("engine epoll: why\n"), None);
    }
}
