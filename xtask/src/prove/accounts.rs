//! Compares the CPU time per request that `versus` reports with the kernel's account of the same
//! processes (utime and stime of `/proc/PID/stat`), over TLS, for Debian's nginx and its H2O.

use std::fs;

use anyhow::{Context as _, ensure};
use model::run::{BLOCKS_FILE, Blocks};
use model::{BlockRecord, Judgement};

use crate::bench::lab::Lab as Servers;
use crate::bench::servers::Server;

use super::{Lab, Proof};

/// A file that both servers serve under one name and with one content type.
const FILE: &str = "hello.txt";
/// Number of rounds: enough that what an account in ticks of 10 ms may miss at its two ends is less
/// than 0.5 % of it.
const ROUNDS: &str = "40";
/// Few, as each block opens its connections before it settles: their handshakes are in the kernel's
/// account, but in no block's window.
const CONNECTIONS: &str = "4";
const WITHIN: f64 = 0.02;
/// The kernel shows times of processes in hundredths of a second (`USER_HZ`) on every architecture
/// that we build for.
const US_PER_TICK: f64 = 10_000.0;

/// Checks each server as B: every request to B is in a block, settling included, while A also gets
/// those of the rehearsal.
pub(super) fn proof(lab: &Lab) -> anyhow::Result<Proof> {
    let servers = Servers::new(lab.linerate.clone())?;
    servers.make_certificate()?;
    fs::write(servers.path("root").join(FILE), "Hello, World!\n")?;
    let start = |name| {
        servers
            .start(name)?
            .with_context(|| format!("{name} is not installed"))
    };
    let (nginx, h2o) = (start("nginx-tls")?, start("h2o-tls")?);
    let accounts = [
        ("nginx", Account::of(lab, &h2o, &nginx)?),
        ("H2O", Account::of(lab, &nginx, &h2o)?),
    ];
    let words = accounts
        .iter()
        .map(|(name, account)| format!("{name} {}", account.words()));
    Ok(Proof {
        claim: format!(
            "server CPU per request of all blocks over https is within {:.0} % of the processes' utime and stime",
            WITHIN * 100.0
        ),
        seen: words.collect::<Vec<_>>().join("\n     "),
        held: accounts.iter().all(|(_, account)| account.agrees()),
    })
}

/// CPU time of one server, µs per request.
struct Account {
    /// The median of the blocks, which `versus` reports. On a busy machine it differs from the
    /// value of all blocks together.
    reported: f64,
    /// The value of all blocks' windows together.
    of_windows: f64,
    /// The ticks that its processes used during the run, over all requests that were sent to it.
    of_ticks: f64,
    ticks: u64,
    requests: u64,
}

impl Account {
    fn of(lab: &Lab, a: &Server, b: &Server) -> anyhow::Result<Self> {
        let run = format!("accounts-{}", b.address().port());
        let [url_a, url_b] = [a, b].map(|server| format!("https://{}/{FILE}", server.address()));
        let before = ticks(b)?;
        let judgement = lab.judgement(&[
            "versus",
            &url_a,
            &url_b,
            "--insecure",
            "--yes",
            "--json",
            "-c",
            CONNECTIONS,
            "--rounds",
            ROUNDS,
            "--out",
            &run,
        ])?;
        let ticks = ticks(b)? - before;
        let blocks = fs::read(lab.folder().join(run).join(BLOCKS_FILE))?;
        let blocks = Blocks::parse(&blocks)
            .map_err(|bad| anyhow::anyhow!("{bad:?}"))?
            .records;
        let of_b: Vec<&BlockRecord> = blocks.iter().filter(|block| block.arm == "b").collect();
        let sum =
            |value: fn(&BlockRecord) -> u64| of_b.iter().map(|block| value(block)).sum::<u64>();
        let server_ns = sum(|block| block.reading.cpu.server_ns.unwrap_or(0));
        let requests = sum(|block| block.reading.ledger.sent);
        Ok(Self {
            reported: reported(&judgement)?,
            of_windows: server_ns as f64 / 1e3 / sum(|block| block.reading.answered) as f64,
            of_ticks: ticks as f64 * US_PER_TICK / requests as f64,
            ticks,
            requests,
        })
    }

    fn agrees(&self) -> bool {
        (self.of_windows / self.of_ticks - 1.0).abs() <= WITHIN
    }

    fn words(&self) -> String {
        let beside = |value: f64| {
            format!(
                "{value:.3} µs ({:+.2} %)",
                (value / self.of_ticks - 1.0) * 100.0
            )
        };
        format!(
            "told {}, windows together {}, account {:.3} µs: {} ticks for {} requests",
            beside(self.reported),
            beside(self.of_windows),
            self.of_ticks,
            self.ticks,
            self.requests
        )
    }
}

fn reported(judgement: &Judgement) -> anyhow::Result<f64> {
    let b = judgement.arms.iter().find(|arm| arm.name == "b");
    let cost = b.and_then(|b| b.server_cpu_us_per_request);
    Ok(cost.context("nothing is told of the CPU time of B")?.value)
}

/// CPU time of all processes of a server in ticks: utime and stime (proc_pid_stat(5)).
fn ticks(server: &Server) -> anyhow::Result<u64> {
    let of_process = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The process name before the fields may contain anything, spaces and brackets too.
        let (_, fields) = stat.rsplit_once(") ").context("a process without a name")?;
        let times: Vec<u64> = fields
            .split(' ')
            .skip(11)
            .take(2)
            .flat_map(str::parse)
            .collect();
        ensure!(times.len() == 2, "{stat} has no times");
        Ok(times[0] + times[1])
    };
    server.processes().into_iter().map(of_process).sum()
}
