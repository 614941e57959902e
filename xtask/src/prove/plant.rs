//! Measures the CPU time of a request on a server with a planted busy loop. The server itself
//! measures it, with the CPU clock of the serving thread, while a client loads it as a study would.

use std::process::Command;

use anyhow::Context as _;

use super::Lab;
use crate::commands::said;

const TIME: &str = include_str!("plant.sh");

/// CPU time of a request to a server with a busy loop.
#[derive(Debug, PartialEq)]
pub(super) struct Planted {
    pub(super) loop_ns: f64,
    /// All CPU time, the loop included.
    pub(super) all_ns: f64,
}

/// Measures a request's cost on a server that runs the loop `rounds` times for each request.
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
    read_figures(&words).with_context(|| format!("the server told of no plant: {words}"))
}

/// Reads the figures in `planted: N ns of M ns of CPU time a request`.
fn read_figures(words: &str) -> Option<Planted> {
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
        assert_eq!(read_figures(words), Some(planted));
        assert_eq!(read_figures("engine epoll: why\n"), None);
    }
}
