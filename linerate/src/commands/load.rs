//! `linerate load URL`: put load on an HTTP server and say how fast it answers.

mod json;
mod page;
mod request;
mod settling;
mod target;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use model::workload::Arrivals;
use model::{Doubt, Pace};
use sys::stop::{Again, StopSignal};
use traffic::load::http::HttpProtocol;
use traffic::load::{Engine, LoadOutcome, LoadPlan, Observer};
use wire::url::HttpUrl;

use crate::console::Console;
use crate::stopping;
use settling::Settling;
use target::Target;

/// What is scored begins so long after the first request, unless told otherwise.
const DEFAULT_SETTLE: Duration = Duration::from_millis(500);

/// Put load on an HTTP server and say how fast it answers
///
/// Closed loop (the default): every connection sends its next request when the answer to the last
/// is in. It shows capacity and CPU per request. Its latencies leave out the waiting that a slow
/// server causes, because a slow server is simply asked less often.
///
/// Open loop (--rate): requests are due on a schedule that the server cannot slow down, as from
/// users who do not know of one another. A due request takes a free connection; when none is free
/// it waits for one, and that wait counts: latency runs from the moment it was due. Give it enough
/// connections, or the wait is for them and not for the server.
///
/// Two requests are sent beforehand to see that the target answers and whether its body stays the
/// same; if so, one body in 64 is compared with the first. Redirects are answers and are not
/// followed. Only http:// is spoken.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to load, such as http://127.0.0.1:8080/json
    url: String,
    /// Connections held open at once
    #[arg(short, long, default_value_t = 64)]
    connections: u32,
    /// Load threads; connections are dealt evenly between them
    #[arg(short, long, default_value_t = 1)]
    threads: u32,
    /// Length of the scored window, such as 500ms, 10s or 2m
    #[arg(short, long, default_value = "10s", value_parser = request::parse_duration)]
    duration: Duration,
    /// Open loop: requests per second to offer
    #[arg(long, value_name = "RPS")]
    rate: Option<f64>,
    /// How the requests of an open loop are spread over time
    #[arg(long, value_enum, default_value = "uniform", requires = "rate")]
    arrivals: Spread,
    /// Seed of Poisson arrivals; the same seed gives the same schedule
    #[arg(long, default_value_t = 1, requires = "rate")]
    seed: u64,
    /// CPUs for the load threads, in turn, such as 0 or 0-3,8 [default: any]
    #[arg(long, value_name = "LIST", value_parser = sys::cpu::parse_list)]
    cpus: Option<std::vec::Vec<usize>>,
    /// HTTP method [default: GET, or POST with a body]
    #[arg(short = 'X', long)]
    method: Option<String>,
    /// Header to add, such as 'Accept: text/plain'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = request::parse_header)]
    headers: Vec<(String, String)>,
    /// Body to send: a text, or @FILE for the content of a file
    #[arg(long, value_name = "TEXT|@FILE")]
    body: Option<String>,
    /// A request unanswered for so long has failed
    #[arg(long, default_value = "5s", value_parser = request::parse_duration)]
    timeout: Duration,
    /// Load before the scored window [default: 500ms, and longer if throughput settles later]
    #[arg(long, value_parser = request::parse_duration)]
    settle: Option<Duration>,
    /// "This host is mine": needed, typed out, for any target but this machine's loopback
    #[arg(long, value_name = "HOST")]
    mine: Vec<String>,
    /// Throughput mode: move requests and answers in batches and report no latency
    #[arg(long, conflicts_with = "rate")]
    throughput: bool,
    /// What carries the bytes
    #[arg(long, value_enum, default_value = "auto")]
    engine: Carrier,
    /// Print one JSON value instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Spread {
    /// Evenly: one each 1/rate
    Uniform,
    /// At random, as from many independent users
    Poisson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Carrier {
    /// io_uring in throughput mode where the kernel lets us, else epoll
    Auto,
    /// One system call for each request and each answer
    Epoll,
    /// Few system calls; Linux 6.1 or later, and 6.12 to wait for several answers at once
    Uring,
}

const EXAMPLES: &str = "\
Examples:
  How many requests can it answer, and at what cost to the client?
    linerate load http://127.0.0.1:8080/json -c 64 -d 10s
  The most that this machine can carry, without latency:
    linerate load http://127.0.0.1:8080/json -c 64 --throughput
  How long do users wait at 20,000 requests/s?
    linerate load http://127.0.0.1:8080/json --rate 20000 --arrivals poisson
  The same from CPUs that the server does not use:
    linerate load http://127.0.0.1:8080/json --rate 20000 -t 2 --cpus 0-1
  A POST with a body from a file:
    linerate load http://127.0.0.1:8080/items -H 'Content-Type: application/json' --body @item.json
  A machine of yours:
    linerate load http://10.0.0.7:8080/ --mine 10.0.0.7";

/// One load as it was asked for and as it went: what the pages show.
struct Report<'a> {
    target: &'a Target,
    plan: &'a LoadPlan,
    outcome: &'a LoadOutcome,
    /// Remarks about how it was measured, each a sentence.
    notes: Vec<String>,
}

impl Report<'_> {
    /// What carried the bytes, by the name that `--engine` takes.
    fn engine(&self) -> &'static str {
        match self.outcome.engine {
            Engine::Uring => "uring",
            Engine::Epoll | Engine::Auto => "epoll",
        }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let url = HttpUrl::parse(&arguments.url)?;
    let request = request::prepare(arguments, &url)?;
    let mut plan = plan(arguments)?;
    plan.check()?;
    plan.make_room()?;
    let target = Target::find(&url, &arguments.mine, &request, plan.timeout_ns)?;
    plan.address = target.address;
    let mut notes = target.notes();
    let request = match target.body_is_steady {
        true => request,
        false => request.without_comparing_bodies(),
    };
    announce(&plan, &target, console);
    let mut outcome = load(arguments, &mut plan, &request, &mut notes)?;
    outcome.doubts.extend(cpu_doubts(&plan)?);
    let report = Report {
        target: &target,
        plan: &plan,
        outcome: &outcome,
        notes,
    };
    console.say(&if arguments.json {
        json::render(&report)
    } else {
        page::render(&report)
    });
    if let Some(signal) = sys::stop::heard() {
        return Ok(stopping::exit_code(signal));
    }
    Ok(if outcome.answered > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Lets a signal end the load early, with what was measured until then.
struct UntilStopped;

impl Observer for UntilStopped {
    fn window_opens(&mut self) {}
    fn window_closes(&mut self) {}

    fn is_over(&self) -> bool {
        sys::stop::heard().is_some()
    }
}

/// Puts the load on; once more, with a longer start left out, when throughput settled late and
/// nobody said how long to wait.
fn load(
    arguments: &Arguments,
    plan: &mut LoadPlan,
    request: &HttpProtocol,
    notes: &mut Vec<String>,
) -> anyhow::Result<LoadOutcome> {
    let _stop = StopSignal::listen(Again::Kills)?;
    let outcome = traffic::load::run(plan, request, &mut UntilStopped)?;
    if let Some(signal) = sys::stop::heard() {
        let (by, asked) = (
            stopping::name(signal),
            report::numbers::duration(plan.score_ns),
        );
        notes.push(format!(
            "stopped by {by} before the {asked} asked for were over"
        ));
        return Ok(outcome);
    }
    match settling::look(&outcome.window_counts, plan.settle_ns) {
        Settling::InTime => Ok(outcome),
        Settling::Never => {
            notes.push("throughput was still changing at the end: ask for a longer -d".to_owned());
            Ok(outcome)
        }
        Settling::Late { after_ns } if arguments.settle.is_some() => {
            let late = report::numbers::duration(after_ns);
            notes.push(format!(
                "throughput settled only after {late}: ask for a longer --settle"
            ));
            Ok(outcome)
        }
        Settling::Late { after_ns } => {
            let late = report::numbers::duration(after_ns);
            notes.push(format!(
                "throughput settled after {late}; measured again without that"
            ));
            plan.settle_ns = after_ns;
            Ok(traffic::load::run(plan, request, &mut UntilStopped)?)
        }
    }
}

fn plan(arguments: &Arguments) -> anyhow::Result<LoadPlan> {
    let arrivals = match arguments.arrivals {
        Spread::Uniform => Arrivals::Uniform,
        Spread::Poisson => Arrivals::Poisson,
    };
    let pace = arguments.rate.map_or(Pace::Closed, |rate_rps| Pace::Open {
        rate_rps,
        arrivals,
        seed: arguments.seed,
    });
    let cpus = arguments.cpus.clone().unwrap_or_default();
    sys::cpu::all_allowed(&cpus).context("--cpus")?;
    Ok(LoadPlan {
        address: ([0, 0, 0, 0], 0).into(),
        connections: arguments.connections,
        threads: arguments.threads,
        cpus,
        pace,
        settle_ns: nanoseconds(arguments.settle.unwrap_or(DEFAULT_SETTLE)),
        score_ns: nanoseconds(arguments.duration),
        timeout_ns: nanoseconds(arguments.timeout),
        record_latency: !arguments.throughput,
        engine: match arguments.engine {
            Carrier::Auto => Engine::Auto,
            Carrier::Epoll => Engine::Epoll,
            Carrier::Uring => Engine::Uring,
        },
    })
}

/// Whether the server runs here on the client's only CPU, and whether a quota stops the client.
fn cpu_doubts(plan: &LoadPlan) -> anyhow::Result<Vec<Doubt>> {
    let client_cpus = match &plan.cpus[..] {
        [] => sys::cpu::allowed().context("reading which CPUs may be used")?,
        named => named.to_vec(),
    };
    let server_pids = machine::targets::listening_on(plan.address).unwrap_or_default();
    let sharing = machine::cpus::sharing(&server_pids, &client_cpus);
    let quota = study::preflight::quota_doubt(&machine::facts::collect(false));
    Ok(sharing.into_iter().chain(quota).collect())
}

/// Says what comes and how long it takes, where that is long enough to wonder.
fn announce(plan: &LoadPlan, target: &Target, console: &Console) {
    let total_ns = plan.settle_ns + plan.score_ns;
    if total_ns > 2_000_000_000 && console.may_draw() {
        let time = report::numbers::duration(total_ns);
        console.note(&format!("loading {} for {time}", target.shown));
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
