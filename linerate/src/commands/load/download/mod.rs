//! `linerate load URL --download`: how fast long bodies come, what they cost each side, and which
//! side had no more to give.

pub(crate) mod json;
mod page;

use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use machine::instruments::cpu::CpuWatch;
use machine::instruments::senders::{SenderReading, SenderWatch};
use machine::instruments::threads::ThreadWatch;
use model::reading::MachineCpu;
use sys::standard_input::read_to_end_or;
use sys::stop::{Again, StopSignal};
use traffic::load::http::HttpProtocol;
use traffic::load::{Engine, HeadProbe, LoadOutcome, LoadPlan, Loads as _, Observer, probe_head};
use wire::url::HttpUrl;

use super::Arguments;
use super::target::first_answer;
use super::watching::Watching;
use crate::commands::limits::full_sides;
use crate::console::Console;
use crate::{ownership, stopping};

/// One download as it was asked for and as it went: what the pages show.
struct LoadDownloadReport {
    /// The URL without its query.
    shown: String,
    plan: LoadPlan,
    first: HeadProbe,
    outcome: LoadOutcome,
    server: Result<ServerSpent, String>,
    /// All CPUs of this machine, in the scored window.
    machine: Option<MachineCpu>,
    /// Remarks about how it was measured, each a sentence.
    notes: Vec<String>,
}

/// What a server on this machine spent, and why it sent no faster.
struct ServerSpent {
    /// All its processes, in the scored window.
    cpu_ns: Option<u64>,
    /// Of its busiest thread, 0 to 1.
    busy_share: Option<f64>,
    sending: Option<SenderReading>,
}

impl LoadDownloadReport {
    fn seconds(&self) -> f64 {
        self.outcome.window_ns.max(1) as f64 / 1e9
    }

    fn gigabytes(&self) -> f64 {
        self.outcome.received_bytes as f64 / 1e9
    }

    fn gbit_per_second(&self) -> f64 {
        self.gigabytes() * 8.0 / self.seconds()
    }

    /// CPU time per GB, s; `None` when nothing came.
    fn per_gigabyte(&self, cpu_ns: u64) -> Option<f64> {
        (self.outcome.received_bytes > 0).then(|| cpu_ns as f64 / 1e9 / self.gigabytes())
    }

    fn server_busy_share(&self) -> Option<f64> {
        self.server.as_ref().ok()?.busy_share
    }

    /// The sides of which one thread had a CPU for the whole window.
    fn full_sides(&self) -> Vec<&'static str> {
        full_sides(self.outcome.client_busy_share, self.server_busy_share())
    }

    /// Whether a body came, or is on its way after others.
    fn is_well(&self) -> bool {
        let ledger = &self.outcome.ledger;
        self.outcome.received_bytes > 0 && (ledger.answered > 0 || ledger.errors.failed() == 0)
    }
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let [url] = &arguments.urls[..] else {
        bail!("--download takes one URL: start one for each");
    };
    let url = HttpUrl::parse(url)?;
    let spec = arguments.request.spec(&url, "", None)?;
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
    let report = LoadDownloadReport {
        shown: url.without_query(),
        server,
        machine,
        notes: notes(&first, &plan),
        plan,
        first,
        outcome,
    };
    arguments.answer(
        console,
        &if arguments.json {
            json::render(&report)
        } else {
            page::render(&report)
        },
    );
    if let Some(signal) = sys::stop::heard() {
        return Ok(stopping::exit_code(signal));
    }
    Ok(if report.is_well() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
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

/// The first address that answers, and the head of its answer: the body may be very long.
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
    /// The beginning waits for the end of standard input, or for this to be readable.
    holds: Option<BorrowedFd<'a>>,
    /// Why a server of this machine is not known, where it is not.
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
                busy_share: self.threads.busiest_share(),
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
