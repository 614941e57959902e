//! `linerate load URL`: put load on an HTTP server and say how fast it answers.

mod arguments;
pub(crate) mod came_to;
mod case;
mod counted;
pub(crate) mod download;
pub(crate) mod many_blocks;
mod mix;
mod requests;
mod settling;
mod target;
mod two_answers;
pub(crate) mod unix_socket;
mod watching;

use std::process::ExitCode;

use agent::Window;
use anyhow::Context as _;
use machine::instruments::cpu::CpuWatch;
use minijinja::context;
use minijinja::value::Serde;
use model::Doubt;
use model::load_run::HttpVersion;
use model::reading::MachineCpu;
use sys::stop::{Again, StopSignal};
use traffic::load::{LoadOutcome, LoadPlan, NoObserver, Observer};

use crate::console::Console;
use crate::stopping;
use crate::told::{self, template};
pub(crate) use arguments::Arguments;
use came_to::LoadResult;
use case::Case;
use requests::Requests;
use settling::Settling;
use target::Target;
use watching::Watching;

/// Heading, in the help, of the flags for output.
const OUTPUT: &str = "Output";

/// The version of HTTP that a plan is for.
fn version(plan: &LoadPlan) -> HttpVersion {
    match plan.streams {
        Some(_) => HttpVersion::Two,
        None => HttpVersion::One,
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    arguments.watching.check(arguments.json)?;
    if arguments.download {
        return download::run(arguments, console);
    }
    let urls = requests::urls(arguments)?;
    let url = &urls[0];
    let requests = Requests::prepare(arguments, &urls)?;
    let mut plan = arguments.plan()?;
    plan.check()?;
    plan.make_room()?;
    let (workload, timeout_ns) = (arguments.many_blocks(), arguments.timeout_ns(&plan));
    if let Some(workload) = &workload {
        let plan = LoadPlan {
            timeout_ns,
            ..plan.clone()
        };
        many_blocks::check(workload, arguments, &plan)?;
    }
    plan.tls = arguments.request.tls.client(url, arguments.request.http2)?;
    let target = Target::find(url, arguments, &requests, &plan)?;
    plan.address = target.address.clone();
    let (requests, notes) = requests.look(&target.address, &target.look, &plan)?;
    plan.timeout_ns = timeout_ns;
    let case = Case {
        arguments,
        target: &target,
        plan,
        requests,
        notes,
    };
    match workload {
        Some(workload) => many_blocks::run(workload, &case, console),
        None => once(case, console),
    }
}

/// Runs one load, and prints the page about it.
fn once(case: Case<'_>, console: &Console) -> anyhow::Result<ExitCode> {
    let Case {
        arguments,
        target,
        mut plan,
        requests,
        mut notes,
    } = case;
    announce(&plan, target, console);
    let (mut outcome, machine) = load(arguments, &mut plan, &requests, &mut notes, console)?;
    outcome.doubts.extend(cpu_doubts(&plan)?);
    let result = LoadResult::of((target, &plan), &outcome, machine, requests.mix(), notes);
    let page = || {
        let page = context! {
            in_full => arguments.latency,
            p50_is_firm => came_to::is_firm(0.5, &outcome),
            p99_is_firm => came_to::is_firm(0.99, &outcome),
            ..Serde(&result)
        };
        told::page(&page, template!("load"), console.width())
    };
    arguments.tell(&result, page, console);
    if let Some(signal) = sys::stop::heard() {
        return Ok(stopping::exit_code(signal));
    }
    Ok(if outcome.answered > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Says why a load was shorter than planned, where a signal ended it.
fn stopped_early(plan: &LoadPlan) -> Option<String> {
    let by = stopping::name(sys::stop::heard()?);
    let asked = match plan.requests {
        Some(requests) => format!("{} requests", report::numbers::whole(requests as f64)),
        None => report::numbers::duration(plan.score_ns),
    };
    Some(format!(
        "stopped by {by} before the {asked} asked for were over"
    ))
}

/// Puts the load on, and once more with a longer time to settle when throughput settled late and
/// no such time was given.
fn load(
    arguments: &Arguments,
    plan: &mut LoadPlan,
    requests: &Requests,
    notes: &mut Vec<String>,
    console: &Console,
) -> anyhow::Result<(LoadOutcome, Option<MachineCpu>)> {
    let _stop = StopSignal::listen(Again::Kills)?;
    let run = |plan: &LoadPlan| {
        let watching = Watching::prepare(arguments, plan, console)?;
        let load = |observer: &mut dyn Observer| requests.put_on(plan, observer);
        let mut window = Window {
            watch: CpuWatch::new(&[]),
            beside: &mut NoObserver,
        };
        let outcome = watching.over(&mut window, load)?;
        let machine = window.watch.counts(outcome.window_ns).machine;
        anyhow::Ok((outcome, machine))
    };
    let warm_up = counted::warm_up(plan, arguments.settle);
    if let Some(before) = &warm_up {
        let mut window = Window {
            watch: CpuWatch::new(&[]),
            beside: &mut NoObserver,
        };
        requests.put_on(before, &mut window)?;
    }
    let (mut outcome, machine) = run(plan)?;
    outcome.settled_ns += warm_up.map_or(0, |before| before.score_ns);
    notes.extend(counted::shortfall(plan, &outcome).filter(|_| sys::stop::heard().is_none()));
    if let Some(note) = stopped_early(plan) {
        notes.push(note);
        return Ok((outcome, machine));
    }
    match settling::of(&outcome, plan.settle_ns) {
        Settling::InTime => Ok((outcome, machine)),
        Settling::Never => {
            let longer = plan
                .requests
                .map_or("a longer -d", |_| "more requests (-n)");
            notes.push(format!(
                "throughput was still changing at the end: ask for {longer}"
            ));
            Ok((outcome, machine))
        }
        Settling::Late { after_ns } if arguments.is_put_on_once() => {
            let late = report::numbers::duration(after_ns);
            notes.push(format!(
                "throughput settled only after {late}: ask for a longer --settle"
            ));
            Ok((outcome, machine))
        }
        Settling::Late { after_ns } => {
            let late = report::numbers::duration(after_ns);
            notes.push(format!(
                "throughput settled after {late}; measured again without that time"
            ));
            plan.settle_ns = after_ns;
            run(plan)
        }
    }
}

/// Whether the server runs here on the client's only CPU, whether a quota stops the client, and whether
/// CPU times lack interrupts.
fn cpu_doubts(plan: &LoadPlan) -> anyhow::Result<Vec<Doubt>> {
    let client_cpus = match &plan.cpus[..] {
        [] => sys::cpu::allowed().context("reading which CPUs may be used")?,
        named => named.to_vec(),
    };
    let server_pids = target::pids(&plan.address);
    let sharing = machine::cpus::sharing(&server_pids, &client_cpus);
    let facts = machine::facts::collect(false);
    let quota = study::preflight::quota_doubt(&facts);
    let apart = study::preflight::irq_time_doubt([&facts]);
    Ok([sharing, quota, apart].into_iter().flatten().collect())
}

/// Announces the load and how long it takes, where that is long enough for a reader to wonder.
fn announce(plan: &LoadPlan, target: &Target, console: &Console) {
    let total_ns = plan.settle_ns + plan.score_ns;
    if total_ns > 2_000_000_000 && console.may_draw() {
        let what = match plan.requests {
            Some(requests) => format!("with {} requests", report::numbers::whole(requests as f64)),
            None => format!("for {}", report::numbers::duration(total_ns)),
        };
        console.note(&format!("loading {} {what}", target.shown));
    }
}
