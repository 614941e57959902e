//! What a request costs a server with a planted busy loop: measured by that server, with the clock of the
//! thread that serves, while a client loads it as a study would.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, ensure};

use super::Lab;

/// As long as a block of the study, and longer.
const LOAD: [&str; 4] = ["--settle", "100ms", "--duration", "500ms"];

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
    let mut server = Command::new(&lab.linerate);
    server
        .args(["serve", "--listen", "127.0.0.1:0", "--workers", "1"])
        // As the targets of studies are.
        .args(["--sandbox", "off"])
        .args(["--cpus", &server_cpu.to_string()])
        .args(["--busy-work-rounds", &rounds.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut server = server.spawn().context("the server with a plant")?;
    let loaded = address(&mut server).and_then(|address| load(lab, &address, *client_cpu));
    let _ = sys::process::terminate(&server);
    let mut words = String::new();
    let mut said = server.stderr.take().context("its standard error")?;
    said.read_to_string(&mut words)?;
    server.wait()?;
    loaded?;
    told(&words).with_context(|| format!("the server told of no plant: {words}"))
}

fn address(server: &mut Child) -> anyhow::Result<String> {
    let said = server.stdout.as_mut().context("its standard output")?;
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line)?;
    let address = line.trim().strip_prefix("listening on ");
    Ok(address.context("the server did not come up")?.to_owned())
}

fn load(lab: &Lab, address: &str, cpu: usize) -> anyhow::Result<()> {
    let mut load = Command::new(&lab.linerate);
    load.args(["load", &format!("http://{address}/json")])
        .args(["--threads", "1", "--connections", "64"])
        .args(["--cpus", &cpu.to_string()])
        .args(LOAD);
    let output = load.output()?;
    let words = [output.stdout, output.stderr].concat();
    let words = String::from_utf8_lossy(&words);
    ensure!(output.status.success(), "the load failed: {words}");
    Ok(())
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
