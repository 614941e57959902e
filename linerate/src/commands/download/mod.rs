//! `linerate download`: measures how a server sends a file to clients, whatever programs both are.

mod arguments;
mod crossings;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::ExitCode;

use agent::download::{Downloaded, FarServing, Serving as _, ServingEnd, Side, fetch, serve};
use anyhow::{anyhow, bail};
use machine::instruments::senders::SenderReading;
use model::Doubt;
use model::doubt::{WordedDoubt, worded};
use model::reading::MachinePerUnit;
use schemars::JsonSchema;
use serde::Serialize;
use sys::address::Address;
use sys::stop::{Again, StopSignal};
use traffic::tls::Agreed;

use super::limits::{self, Sides};
use super::traffic_price::{self, Spending};
use super::whole_machine;
use crate::console::Console;
use crate::failure::words;
use crate::ourselves::OURSELVES;
use crate::told::{self, template};
use crate::{listening, ownership, shape, stopping};
pub(crate) use arguments::Arguments;
use crossings::Crossings;

/// Port of a serving end unless another is given.
const USUAL_PORT: u16 = 5202;
/// If others have more than this share of the CPUs' time, the sides may have waited for a CPU.
const OTHERS_LIMIT_SHARE: f64 = 0.1;

/// One file sent from a server to clients, over and over, whatever programs both are.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Download {
    /// Version of the program.
    linerate_version: &'static str,
    /// Scheme of the URL.
    #[schemars(extend("enum" = ["http", "https"]))]
    scheme: &'static str,
    /// What our own client and the server agreed on before the clients were started; null without
    /// TLS.
    tls: Option<Agreed>,
    /// Connections of all client processes together.
    connections: u32,
    /// Length of the file, bytes.
    file_bytes: u64,
    /// From the first bytes of every connection to the scored window, s.
    settle_seconds: f64,
    /// Length of the scored window, s.
    window_seconds: f64,
    /// What the clients' kernel acknowledged within the window: bodies, heads and what TLS
    /// adds, bytes.
    acknowledged_bytes: u64,
    /// acknowledged_bytes per second, Gbit/s.
    throughput_gbit_per_second: f64,
    /// The server, and what all its processes spent within the window.
    server: DownloadServer,
    /// Gbit/s for each per cent of the time of all its CPUs that the server used.
    gbit_per_second_per_server_cpu_percent: f64,
    /// How often each byte of the file crosses between CPU and memory on its way out of our own
    /// server; null for another server, whose path is not known.
    memory_crossings: Option<Crossings>,
    /// Bytes of DRAM traffic for each acknowledged byte by the memory controllers' counters,
    /// whoever caused it; null where the kernel has no such counters for us.
    dram_bytes_per_byte: Option<f64>,
    /// The clients, and what all their processes spent within the window.
    client: DownloadClient,
    /// CPU time of all CPUs of this machine per 10^9 acknowledged bytes, s; null where it is
    /// hidden, and between two machines.
    machine_cpu_seconds_per_gb: Option<MachinePerUnit>,
    /// The sides that were busy for 95 % of the window or more: they could not have done more.
    full_sides: Vec<&'static str>,
    /// What was at its limit: a side or both, or the CPUs that they share, if both together used
    /// 95 % of their time or more; unknown where others may have used the CPUs.
    #[schemars(extend("enum" = ["client", "server", "both", "shared_cpus", "neither", "unknown"]))]
    limit: &'static str,
    /// How the server's connections sent within the window, by the kernel's account (struct
    /// tcp_info); all connections added up.
    sending: Sending,
    /// What makes the figures doubtful.
    doubts: Vec<WordedDoubt>,
}

/// How the server's connections sent within the window, by the kernel's account (struct
/// tcp_info); all connections added up.
#[derive(Serialize, JsonSchema)]
pub(super) struct Sending {
    /// Connections whose times are added up, count.
    connections: u64,
    /// Time with something to send or to be acknowledged (tcpi_busy_time), s.
    busy_seconds: f64,
    /// Part of that time in which the client's window let no more be sent (tcpi_rwnd_limited), s.
    rwnd_limited_seconds: f64,
    /// Part of that time in which the server's own send buffer was the limit
    /// (tcpi_sndbuf_limited), s.
    sndbuf_limited_seconds: f64,
}

/// The clients, and what all their processes spent within the window.
#[derive(Serialize, JsonSchema)]
struct DownloadClient {
    /// The command of each client as it was typed; null for our own.
    command: Option<String>,
    #[serde(flatten)]
    spent: Spent,
}

/// The server, and what all its processes spent within the window.
#[derive(Serialize, JsonSchema)]
struct DownloadServer {
    /// Name of the server for readers.
    title: String,
    /// Version as its program reports it; null for our own server, whose version is
    /// linerate_version.
    version: Option<String>,
    #[serde(flatten)]
    spent: Spent,
}

/// What all processes of a side spent within the window.
#[derive(Serialize, JsonSchema)]
struct Spent {
    /// Its CPUs, as a list such as 0-3,8.
    cpus: String,
    /// Its CPU time per 10^9 acknowledged bytes, s.
    cpu_seconds_per_gb: f64,
    /// How busy it was, %: the larger of two shares, that of the window in which its busiest thread
    /// had a CPU, and that of the time of all its CPUs that it used.
    #[schemars(range(min = 0, max = 100))]
    busy_percent: f64,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    arguments.check()?;
    // Both sides must be ended whatever ends us.
    let stop = StopSignal::listen(Again::Kills)?;
    if let Some(address) = &arguments.listen {
        return listen(address, arguments, console);
    }
    let downloaded = match &arguments.from {
        Some(host) => from(host, arguments, console),
        None => here(arguments),
    };
    drop(stop);
    if let Some(signal) = sys::stop::heard() {
        console.error(&format!("stopped by {}", stopping::name(signal)));
        return Ok(stopping::exit_code(signal));
    }
    let result = Download::of(arguments, downloaded?);
    told::say(&result, template!("download"), arguments.json, console);
    Ok(ExitCode::SUCCESS)
}

/// Downloads with both ends on this machine.
fn here(arguments: &Arguments) -> anyhow::Result<Downloaded> {
    let offer = arguments.offer()?;
    let end = ServingEnd::start(Path::new(OURSELVES), &offer, Ipv4Addr::LOCALHOST.into());
    let mut end = end.map_err(words)?;
    let fetching = arguments.fetching(end.served(), None)?;
    fetch(&mut end, &fetching).map_err(words)
}

/// Runs only the clients, against a serving end at `host`.
fn from(host: &str, arguments: &Arguments, console: &Console) -> anyhow::Result<Downloaded> {
    let found = ownership::machine(host, USUAL_PORT, &arguments.hosts, &arguments.mine)?;
    // A host may have more addresses than it listens on.
    let mut reached = Err(anyhow!("the host has no address"));
    for at in found {
        reached = FarServing::reach(at, arguments.patience()).map_err(words);
        if reached.is_ok() {
            break;
        }
    }
    let mut end = reached?;
    let server = end.address().ip();
    let fetching = arguments.fetching(end.served(), Some(server))?;
    if !traffic_price::is_ours(server) {
        console.note(&Spending::Time(fetching.settle + fetching.score).forecast());
    }
    fetch(&mut end, &fetching).map_err(words)
}

/// Runs only the server, until a signal.
fn listen(address: &Address, arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let Address::Tcp(address) = address else {
        bail!("--listen takes a port or ADDRESS:PORT: what is downloaded goes over TCP");
    };
    let listener = listening::bind(*address)?;
    let end = ServingEnd::start(Path::new(OURSELVES), &arguments.offer()?, address.ip());
    let mut end = end.map_err(words)?;
    console.say(&format!("listening on {}", listener.local_addr()?));
    serve(&mut end, &listener, &|line| console.say(line))?;
    Ok(sys::stop::heard().map_or(ExitCode::SUCCESS, stopping::exit_code))
}

impl Download {
    fn of(arguments: &Arguments, went: Downloaded) -> Self {
        let throughput_gbit_per_second = went.bytes_per_second() * 8.0 / 1e9;
        let (server, client) = (&went.server, &went.client);
        let all_ns = went.window_ns as f64 * server.cpus.len().max(1) as f64;
        let doubts = doubts(&went);
        let sides = sides(&went, &doubts);
        let server_percent = server.cpu_ns.max(1) as f64 / all_ns * 100.0;
        Self {
            linerate_version: shape::VERSION,
            scheme: if went.served.is_tls { "https" } else { "http" },
            connections: arguments.connections,
            file_bytes: went.served.file_bytes,
            settle_seconds: arguments.settle.as_secs_f64(),
            window_seconds: went.window_ns.max(1) as f64 / 1e9,
            acknowledged_bytes: went.sending.acked_bytes,
            throughput_gbit_per_second,
            server: DownloadServer {
                spent: Spent::of(&went, server),
                title: went.served.server_title.clone(),
                version: went.served.server_version.clone(),
            },
            gbit_per_second_per_server_cpu_percent: throughput_gbit_per_second / server_percent,
            memory_crossings: went.served.way.as_deref().and_then(Crossings::of),
            dram_bytes_per_byte: went
                .dram_bytes
                .map(|bytes| bytes / went.sending.acked_bytes.max(1) as f64),
            client: DownloadClient {
                command: arguments.client.clone(),
                spent: Spent::of(&went, client),
            },
            machine_cpu_seconds_per_gb: MachinePerUnit::of(went.machine, |ns| {
                Some(went.seconds_per_gb(ns))
            }),
            full_sides: sides.full(),
            limit: sides.limit(),
            sending: Sending::from(&went.sending),
            doubts: worded(&doubts),
            tls: went.tls,
        }
    }
}

impl From<&SenderReading> for Sending {
    fn from(reading: &SenderReading) -> Self {
        let seconds = |us: u64| us as f64 / 1e6;
        Self {
            connections: reading.connections,
            busy_seconds: seconds(reading.busy_us),
            rwnd_limited_seconds: seconds(reading.rwnd_limited_us),
            sndbuf_limited_seconds: seconds(reading.sndbuf_limited_us),
        }
    }
}

impl Spent {
    fn of(went: &Downloaded, side: &Side) -> Self {
        Self {
            cpus: sys::cpu::format_list(&side.cpus),
            cpu_seconds_per_gb: went.cpu_seconds_per_gb(side),
            busy_percent: side.busy_share * 100.0,
        }
    }
}

/// How busy both sides were; here the CPUs of both are known.
fn sides(went: &Downloaded, doubts: &[Doubt]) -> Sides {
    let (server, client) = (&went.server, &went.client);
    let all: BTreeSet<&usize> = server.cpus.iter().chain(&client.cpus).collect();
    let all_ns = went.window_ns.max(1) as f64 * all.len().max(1) as f64;
    Sides {
        client_share: client.busy_share,
        server_share: Some(server.busy_share),
        shared_share: (went.shared_cpus > 0)
            .then(|| (server.cpu_ns + client.cpu_ns) as f64 / all_ns),
        is_doubtful: doubts.iter().any(limits::bears_on_limits),
    }
}

fn doubts(went: &Downloaded) -> Vec<Doubt> {
    let cpus = went.shared_cpus;
    let shared = (cpus > 0).then_some(Doubt::SharedCpus { cpus });
    let others = went.others_share;
    let others = others.filter(|share| *share > OTHERS_LIMIT_SHARE);
    let others = others.map(|cpu_share| Doubt::ForeignWork { cpu_share });
    let all = [shared, others, whole_machine::doubt()];
    all.into_iter().flatten().collect()
}
