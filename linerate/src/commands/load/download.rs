//! `linerate load URL --download`: how fast long bodies arrive, what they cost each side, and which
//! side was at its limit.

use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use machine::instruments::cpu::CpuWatch;
use machine::instruments::senders::{SenderReading, SenderWatch};
use machine::instruments::threads::ThreadWatch;
use model::Doubt;
use model::doubt::{WordedDoubt, worded};
use model::reading::{Errors, MachineCpu, MachinePerUnit};
use schemars::JsonSchema;
use serde::Serialize;
use sys::standard_input::read_to_end_or;
use sys::stop::{Again, StopSignal};
use traffic::load::http::HttpProtocol;
use traffic::load::{Engine, HeadProbe, LoadOutcome, LoadPlan, Loads as _, Observer, probe_head};
use traffic::tls::Agreed;
use wire::url::HttpUrl;

use super::Arguments;
use super::target::first_answer;
use super::watching::Watching;
use crate::commands::download::Sending;
use crate::commands::limits::{Sides, bears_on_limits};
use crate::console::Console;
use crate::told::{self, template};
use crate::{ownership, shape, stopping};

/// One download: how fast long bodies arrived, and what they cost each side.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LoadDownload {
    /// Version of the program.
    linerate_version: &'static str,
    /// What was loaded: the URL without its query.
    target: String,
    /// The address that was loaded, as ADDR:PORT.
    address: String,
    /// Connections held open at once, count.
    connections: u32,
    /// Load threads, count.
    threads: u32,
    /// Download before the scored window, s.
    settle_seconds: f64,
    /// Length of the scored window as it was, s.
    window_seconds: f64,
    /// HTTP status of the first answer.
    first_status: u16,
    /// Length of the body by the head of the first answer, bytes; null where only the end of the
    /// body shows it.
    body_bytes: Option<u64>,
    /// What the first handshake agreed on; null without TLS.
    tls: Option<Agreed>,
    /// Bytes received within the scored window: heads, bodies and chunk framing, without TLS's
    /// records.
    received_bytes: u64,
    /// Those bytes per second of the window, Gbit/s (1e9 bit/s).
    throughput_gbit_per_second: f64,
    /// Requests sent, settling included, count.
    sent: u64,
    /// Whole right bodies, settling included, count.
    answered: u64,
    /// Requests without a whole right body, settling included, by what became of them.
    errors: Errors,
    /// CPU time of the load threads per GB (1e9 bytes) received, s; null when nothing arrived.
    client_cpu_seconds_per_gb: Option<f64>,
    /// Share of the window in which the busiest load thread worked, 0 to 1.
    client_busy_share: f64,
    /// Share of the window in which that thread worked or was ready to run while something else had its
    /// CPU, 0 to 1.
    client_occupied_share: f64,
    /// The server's side; null where it is on another machine or may not be seen.
    server: Option<LoadedServer>,
    /// Why the server's side is not known; null where it is.
    server_unknown: Option<String>,
    /// CPU time of all CPUs of this machine per GB (1e9 bytes) received, s; null where it is
    /// hidden, or nothing arrived.
    machine_cpu_seconds_per_gb: Option<MachinePerUnit>,
    /// Sides of which one thread had a CPU for 95 % of the window or more.
    full_sides: Vec<&'static str>,
    /// What was at its limit: a side or both, or the CPU that they share, if both together used
    /// 95 % of its time or more; unknown where one may have waited for a CPU that others used;
    /// neither also where the server's side is not known and the client was not at its limit.
    #[schemars(extend("enum" = ["client", "server", "both", "shared_cpus", "neither", "unknown"]))]
    limit: &'static str,
    /// What makes the figures doubtful.
    doubts: Vec<WordedDoubt>,
    /// Remarks about how it was measured.
    notes: Vec<String>,
}

/// A server on this machine.
#[derive(Serialize, JsonSchema)]
struct LoadedServer {
    /// CPU time of all its processes per GB (1e9 bytes) received, s; null where it cannot be
    /// read.
    cpu_seconds_per_gb: Option<f64>,
    /// Share of the window in which its busiest thread had a CPU, 0 to 1; null where it cannot
    /// be read.
    busy_share: Option<f64>,
    /// What held the sending of its connections back; null where the kernel does not report it, or
    /// no connection was left.
    sending: Option<Sending>,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let [url] = &arguments.urls[..] else {
        bail!("--download takes one URL: start one download for each");
    };
    let url = HttpUrl::parse(url)?;
    let spec = arguments
        .request
        .spec(std::slice::from_ref(&url), "", None, 0)?;
    ensure!(
        spec.mix.is_none(),
        "--download asks for one body again and again: leave out the number to draw ({{id:1..1000}}), or \
         --download"
    );
    let request = agent::request::http1(&url, &spec).context("the request cannot be sent")?;
    let request = request.counting_bodies(arguments.length);
    let mut plan = plan(arguments, &url)?;
    let (address, first) = find(&url, arguments, &request, &plan)?;
    plan.address = address.into();
    let stop = StopSignal::listen(Again::Kills)?;
    let mut watch = Watch::new(address, arguments.hold.then(|| stop.as_fd()));
    let watching = Watching::prepare(arguments, &plan, console)?;
    let load = |observer: &mut dyn Observer| request.load(&plan, observer);
    let mut outcome = watching.over(&mut watch, load)?;
    let machine = watch.cpu.counts(outcome.window_ns).machine;
    let server = watch.server(outcome.window_ns);
    drop(stop);
    outcome.doubts.extend(super::cpu_doubts(&plan)?);
    let result = LoadDownload::of((&url, &plan), first, &outcome, (server, machine));
    let page = || told::page(&result, template!("load-download"), console.width());
    arguments.tell(&result, page, console);
    if let Some(signal) = sys::stop::heard() {
        return Ok(stopping::exit_code(signal));
    }
    // Success is a whole body, or one still on its way where none failed.
    let ledger = &outcome.ledger;
    let is_well =
        outcome.received_bytes > 0 && (ledger.answered > 0 || ledger.errors.failed() == 0);
    Ok(ExitCode::from(u8::from(!is_well)))
}

impl LoadDownload {
    fn of(
        (url, plan): (&HttpUrl, &LoadPlan),
        first: HeadProbe,
        outcome: &LoadOutcome,
        (server, machine): (Result<ServerSpent, String>, Option<MachineCpu>),
    ) -> Self {
        let seconds = outcome.window_ns.max(1) as f64 / 1e9;
        let gigabytes = outcome.received_bytes as f64 / 1e9;
        let per_gb = |cpu_ns: u64| (gigabytes > 0.0).then(|| cpu_ns as f64 / 1e9 / gigabytes);
        let busy_share = server.as_ref().ok().and_then(|server| server.busy_share);
        let sides = sides(outcome, busy_share);
        Self {
            linerate_version: shape::VERSION,
            target: url.without_query(),
            address: plan.address.to_string(),
            connections: plan.connections,
            threads: plan.threads,
            settle_seconds: outcome.settled_ns as f64 / 1e9,
            window_seconds: outcome.window_ns as f64 / 1e9,
            notes: notes(&first, plan),
            first_status: first.status,
            body_bytes: first.body_bytes,
            tls: first.tls,
            received_bytes: outcome.received_bytes,
            throughput_gbit_per_second: gigabytes * 8.0 / seconds,
            sent: outcome.ledger.sent,
            answered: outcome.ledger.answered,
            errors: outcome.ledger.errors,
            client_cpu_seconds_per_gb: per_gb(outcome.client_cpu_ns),
            client_busy_share: outcome.client_busy_share,
            client_occupied_share: outcome.client_occupied_share,
            server_unknown: server.as_ref().err().cloned(),
            server: server.ok().map(|server| LoadedServer {
                cpu_seconds_per_gb: server.cpu_ns.and_then(per_gb),
                busy_share,
                sending: server.sending.as_ref().map(Sending::from),
            }),
            machine_cpu_seconds_per_gb: MachinePerUnit::of(machine, per_gb),
            full_sides: sides.full(),
            limit: sides.limit(),
            doubts: worded(&outcome.doubts),
        }
    }
}

/// How busy both sides were, by the busiest thread of each.
fn sides(outcome: &LoadOutcome, server_share: Option<f64>) -> Sides {
    let client_share = outcome.client_busy_share;
    let is_one_cpus = |doubt: &Doubt| matches!(doubt, Doubt::SharedCpus { .. });
    let shared = server_share.filter(|_| outcome.doubts.iter().any(is_one_cpus));
    Sides {
        client_share,
        server_share,
        shared_share: shared.map(|server_share| server_share + client_share),
        is_doubtful: outcome.doubts.iter().any(bears_on_limits),
    }
}

/// What a server on this machine spent, and what held its sending back.
struct ServerSpent {
    /// CPU time of all its processes in the scored window, ns.
    cpu_ns: Option<u64>,
    /// Share of the window in which its busiest thread had a CPU, 0 to 1.
    busy_share: Option<f64>,
    sending: Option<SenderReading>,
}

fn plan(arguments: &Arguments, url: &HttpUrl) -> anyhow::Result<LoadPlan> {
    let plan = arguments.plan()?;
    let plan = LoadPlan {
        bulk: true,
        record_latency: false,
        tls: arguments.request.tls.client(url, false)?,
        ..plan
    };
    plan.check()?;
    plan.make_room()?;
    Ok(plan)
}

/// The first address that answers, and only the head of its answer: the body may be very long.
fn find(
    url: &HttpUrl,
    arguments: &Arguments,
    request: &HttpProtocol,
    plan: &LoadPlan,
) -> anyhow::Result<(SocketAddr, HeadProbe)> {
    let probe =
        |address: &SocketAddr| probe_head(*address, plan.tls.as_ref(), request, plan.timeout_ns);
    first_answer(&ownership::addresses(url, &arguments.mine)?, probe)
        .with_context(|| format!("{} does not answer", url.without_query()))
}

fn notes(first: &HeadProbe, plan: &LoadPlan) -> Vec<String> {
    let status = (first.status >= 300).then(|| {
        format!(
            "the target answers {}; only its own body is downloaded",
            first.status
        )
    });
    let engine = (plan.engine == Engine::Uring).then(|| {
        "io_uring receives into small buffers; --engine epoll takes more at once".to_owned()
    });
    let stopped = super::stopped_early(plan);
    status.into_iter().chain(engine).chain(stopped).collect()
}

/// Reads both sides in step with the load, and lets a signal end it early.
struct Watch<'a> {
    /// If set, the load begins at the end of standard input, or when this becomes readable.
    holds: Option<BorrowedFd<'a>>,
    /// Why the server's side is not known, if it is not.
    unknown: Option<String>,
    cpu: CpuWatch,
    threads: ThreadWatch,
    senders: SenderWatch,
}

impl<'a> Watch<'a> {
    fn new(address: SocketAddr, holds: Option<BorrowedFd<'a>>) -> Self {
        let found = machine::targets::listening_on(address);
        let unknown = found.as_ref().err().map(ToString::to_string);
        let pids = found.unwrap_or_default();
        Self {
            holds,
            unknown,
            cpu: CpuWatch::new(&pids),
            threads: ThreadWatch::new(&pids),
            senders: SenderWatch::new(address.port()),
        }
    }

    fn server(self, window_ns: u64) -> Result<ServerSpent, String> {
        match self.unknown {
            Some(reason) => Err(reason),
            None => Ok(ServerSpent {
                cpu_ns: self.cpu.counts(window_ns).server_ns,
                busy_share: self.threads.busiest_share().filter(|_| window_ns > 0),
                sending: self.senders.reading(),
            }),
        }
    }
}

impl Observer for Watch<'_> {
    fn is_connected(&mut self) {
        if let Some(stop) = self.holds {
            // Without an input there is nothing to wait for.
            let _ = read_to_end_or(stop);
        }
    }

    fn window_opens(&mut self) {
        self.senders.open();
        self.threads.open();
        self.cpu.open();
    }

    fn window_closes(&mut self) {
        self.cpu.close();
        self.threads.close();
        self.senders.close();
    }

    fn is_over(&self) -> bool {
        sys::stop::heard().is_some()
    }
}
