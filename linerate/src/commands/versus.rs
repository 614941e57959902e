//! `linerate versus URL_A URL_B`: which of two running servers is better?

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::ValueHint;
use model::cpus::Workers;
use model::judgement::StepResult;
use model::request::RequestSpec;
use model::rig::RigKind;
use model::run::MOST_ROUNDS;
use model::study::{
    Arm, BaselineSpec, Design, DesignKind, LatencyDesign, Program, Role, STUDY_FORMAT, Study,
    url_without_secrets,
};
use model::{Judgement, Verdict, Workload};
use study::arms::{BASELINE, CONTROL};
use study::campaign::planned_ms;
use study::{Order, Targets};
use sys::address::SocketPath;
use wire::url::HttpUrl;

use crate::agents::Place;
use crate::commands::load::unix_socket;
use crate::console::Console;
use crate::ownership;
use crate::repeat;
use crate::request::{RequestFlags, WHERE};
use crate::run::{self, RunFlags};
use crate::shown::{self, Addition};
use crate::slo::{HeldBy, HeldObjective, Slo};
use crate::values;

/// Find which of two running servers is better, in pairs, in 30 s
///
/// Both are loaded in turn, in random order within each round, over fresh connections for each
/// block. The first is also its own control: if it differs from itself, no verdict is given. The
/// verdict is about server CPU per request if the servers run on this machine and you may see their
/// processes, as their user or as root; otherwise it is about throughput. Absolute throughput
/// counts only with the client on another machine.
///
/// Neither server is started, stopped or changed.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Which is better?
    linerate versus http://127.0.0.1:8080/ http://127.0.0.1:8081/
  Does each answer 99 % within 5 ms, at a rate that both can carry?
    linerate versus http://127.0.0.1:80/ http://127.0.0.1:81/ --slo 'p99<5ms'
  Over TLS and HTTP/2, by a POST with a header of your own, at a rate that both must carry:
    linerate versus https://127.0.0.1:8443/items https://127.0.0.1:9443/items --insecure --http2 \
      --body @item.json -H 'Authorization: Bearer …' --rate 2000
  With requests of several kinds, the same in the same order to both (docs/mixes.md):
    linerate versus http://127.0.0.1:80 http://127.0.0.1:81 --mix requests.toml
  Until the difference is known to within 2 per cent, or three minutes are over:
    linerate versus http://127.0.0.1:80/ http://127.0.0.1:81/ --until 2% --for 3m
  A gate for a change: the old server first, the new one second
    linerate versus http://127.0.0.1:80/ http://127.0.0.1:81/ --fail-if-worse

Exit codes:
  0    measured; with a gate: nothing speaks against B
  1    a gate was asked for and B does not pass: with --fail-if-worse the
       verdict on B is worse, with --slo B fails the objective with its
       whole interval. Inconclusive, invalid and cannot tell pass
  2    could not run")]
pub(crate) struct Arguments {
    /// The first server, the reference: http://host:port/path
    #[arg(value_name = "URL_A", value_hint = ValueHint::Url)]
    a: String,
    /// The second server
    #[arg(value_name = "URL_B", value_hint = ValueHint::Url)]
    b: String,
    /// Connections held open to each server
    #[arg(short, long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// The smallest difference worth knowing, in per cent
    #[arg(long, default_value = "3", value_name = "PERCENT", value_parser = values::parse_percent, hide_short_help = true)]
    smallest_effect: f64,
    /// Go on until the difference is known to within this many per cent, or the time is over
    ///
    /// The run is judged after 16 rounds, 24, 36 and so on, each half as many again. It ends when
    /// the interval lies wholly within this many per cent of no difference, or when a difference is
    /// called and its interval reaches no further than that to either side. The looks share the
    /// error of 5 %, so that looking often finds no more than is there. Where successive pairs
    /// resemble one another, as they do beside a running compiler, the interval is wider for it.
    #[arg(long, value_name = "PERCENT", value_parser = values::parse_percent, conflicts_with_all = ["smallest_effect", "smoke", "rounds"])]
    until: Option<f64>,
    /// With --until: end after this time, but not before 16 rounds are done
    #[arg(long = "for", value_name = "TIME", default_value = "5m", value_parser = values::parse_duration, requires = "until", hide_short_help = true)]
    at_most: Duration,
    /// Load threads; connections are dealt evenly between them
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), hide_short_help = true)]
    threads: u32,
    #[command(flatten)]
    request: RequestFlags,
    /// Load both in open loop at this rate too, and say how long users wait
    #[arg(long, value_name = "RPS", value_parser = parse_rate, hide_short_help = true)]
    rate: Option<f64>,
    /// Compare them even if they answer differently: by status, content type, length or body
    #[arg(long, hide_short_help = true)]
    different_answers: bool,
    /// This host is mine: needed beyond this machine's loopback
    #[arg(long, value_name = "HOST", help_heading = WHERE)]
    mine: Vec<String>,
    /// Connect to this Unix socket instead of the host of the URL; once for A and once for B
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, value_parser = unix_socket::parser(), conflicts_with = "mine", hide_short_help = true, help_heading = WHERE)]
    unix_socket: Vec<SocketPath>,
    /// Test whether each holds a latency, such as p99<5ms
    ///
    /// Both are loaded once more, at a common rate: in open loop at 70 % of what the slower carried
    /// in closed loop, or at --rate. The objective is one of p50, p99, p99.9 and p99.99 of the
    /// response time, and a time that it must stay below. The exit code is 1 if B fails it.
    #[arg(long, value_name = "QUANTILE<TIME", help_heading = GATES)]
    slo: Option<Slo>,
    /// Exit with 1 if B is worse than A
    #[arg(long, help_heading = GATES)]
    fail_if_worse: bool,
    #[command(flatten)]
    flags: RunFlags,
}

const GATES: &str = "Gates";
/// Name of the arm that is B.
const CANDIDATE: &str = "b";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    arguments.request.check()?;
    let seed = arguments.flags.seed();
    let arms = arms(arguments, seed)?;
    let mut study = study(arguments);
    arguments.flags.shorten(&mut study);
    let folder = arguments.flags.folder(&study.name);
    let targets = Targets::Running {
        arms,
        different_answers: arguments.different_answers,
    };
    let command = repeat::command(&[], seed, console);
    let order = Order {
        full: arguments.flags.full,
        ..Order::new(study, targets, seed, command)
    };
    if let Some(stopped) =
        run::measure(order, &Place::Loopback, &folder, &arguments.flags, console)?
    {
        return Ok(stopped);
    }
    let judgement = shown::show_with(&folder, arguments.flags.json, console, |judgement| {
        arguments.slo.as_ref().map(|slo| of_slo(slo, judgement))
    })?;
    let Some(objection) = objection(arguments, &judgement) else {
        return Ok(ExitCode::SUCCESS);
    };
    console.note(&objection);
    Ok(ExitCode::FAILURE)
}

/// Why B does not pass a gate that was asked for.
fn objection(arguments: &Arguments, judgement: &Judgement) -> Option<String> {
    let is_worse = |step: &StepResult| step.arm == CANDIDATE && step.verdict == Verdict::Worse;
    if arguments.fail_if_worse && judgement.steps.iter().any(is_worse) {
        return Some("--fail-if-worse: B is worse than A".to_owned());
    }
    let slo = arguments.slo.as_ref()?;
    let mut results = judgement.latency.iter();
    let result = results.find(|result| result.arm == CANDIDATE)?;
    (slo.holds(result) == Some(false)).then(|| format!("--slo: B does not hold {slo}"))
}

/// Returns whether each of the two holds the objective.
fn of_slo(slo: &Slo, judgement: &Judgement) -> Addition {
    let results = &judgement.latency;
    let lines = results
        .iter()
        .map(|of| format!("{}: {}", of.title, slo.words(of)));
    let arms = results.iter().map(|of| HeldBy {
        arm: of.arm.clone(),
        holds: slo.holds(of),
    });
    Addition {
        text: lines.collect::<Vec<_>>().join("\n"),
        slo: Some(HeldObjective {
            objective: slo.to_string(),
            arms: arms.collect(),
        }),
        levers: None,
    }
}

/// Arms of a comparison: A, A again, B.
pub(super) const ARMS: usize = 3;

fn study(arguments: &Arguments) -> Study {
    let question = format!(
        "Which is better: A, {}, or B, {}?",
        url_without_secrets(&arguments.a),
        url_without_secrets(&arguments.b)
    );
    let workload = Workload {
        path: "/".to_owned(),
        connections: arguments.connections,
        threads: arguments.threads,
        workers: Workers::default(),
    };
    let has_latency = arguments.slo.is_some() || arguments.rate.is_some();
    let percent = arguments.until.unwrap_or(arguments.smallest_effect);
    let comparison = comparison(question, workload, percent / 100.0);
    let study = Study {
        latency: has_latency.then_some(LatencyDesign {
            rate_share: 0.7,
            blocks: 4,
            score_ms: 1000,
            rate_rps: arguments.rate,
        }),
        method: format!("{} {}", comparison.method, arguments.request.sentence()),
        ..comparison
    };
    match arguments.until {
        Some(_) => until_clear(study, arguments.at_most),
        None => study,
    }
}

/// Plans as many rounds as there is time for; those after a clear answer are not measured.
fn until_clear(mut study: Study, at_most: Duration) -> Study {
    let most = rounds_within(&study, ARMS, at_most).max(judge::QUICK_PAIRS);
    study.design.rounds = most;
    study.design.looks = judge::looks::planned(most);
    study
}

/// Returns how many rounds of `arms` arms fit into a time.
pub(super) fn rounds_within(study: &Study, arms: usize, time: Duration) -> u32 {
    let planned_ms = |rounds| {
        let mut study = study.clone();
        study.design.rounds = rounds;
        planned_ms(&study, arms)
    };
    let beside_ms = planned_ms(0);
    let round_ms = planned_ms(1) - beside_ms;
    let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let rounds = time_ms.saturating_sub(beside_ms) / round_ms.max(1);
    u32::try_from(rounds).unwrap_or(u32::MAX).min(MOST_ROUNDS)
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (1.0..=1e8).contains(rate));
    rate.ok_or_else(|| format!("`{text}` is not a rate from 1 to 100000000 requests/s"))
}

/// Returns the study of two servers in closed loop; the smallest effect sought is a share.
pub(super) fn comparison(question: String, workload: Workload, smallest_effect: f64) -> Study {
    Study {
        format: STUDY_FORMAT,
        name: "versus".to_owned(),
        title: "Two running servers".to_owned(),
        question,
        method: "Both are loaded in closed loop in turn, in random order within each round, over \
                 fresh connections for each block; the first is measured a second time as its own \
                 control. Verdicts come from pairs of blocks of one round."
            .to_owned(),
        pitfalls: vec![
            "Both servers ran already: what differs between restarts of either is not sampled."
                .to_owned(),
        ],
        source: None,
        rig: RigKind::Loopback,
        link: None,
        whole: None,
        gate: None,
        design: Design {
            kind: DesignKind::Compare,
            rounds: 16,
            settle_ms: 60,
            score_ms: 450,
            smallest_effect,
            looks: Vec::new(),
        },
        workload,
        latency: None,
        floor: false,
        stacks: false,
        baseline: BaselineSpec {
            title: "A".to_owned(),
            target: None,
            levers: Vec::new(),
            published: None,
        },
        steps: Vec::new(),
    }
}

/// Returns what a server is asked, after checking that it may be loaded.
pub(super) fn asked(
    request: &RequestFlags,
    mine: &[String],
    (text, socket): (&str, Option<&SocketPath>),
    seed: u64,
) -> anyhow::Result<RequestSpec> {
    let url = HttpUrl::parse(text)?;
    match socket {
        Some(socket) => unix_socket::check(socket)?,
        None => drop(ownership::addresses(&url, mine)?),
    }
    // Whom TLS is to trust is checked before any server is loaded.
    request.tls.client(&url, request.http2)?;
    let spec = request.spec(std::slice::from_ref(&url), text, socket, seed)?;
    request.prepare(&url, &spec)?;
    Ok(spec)
}

fn arms(arguments: &Arguments, seed: u64) -> anyhow::Result<Vec<Arm>> {
    let sockets = match &arguments.unix_socket[..] {
        [] => [None, None],
        [a, b] => [Some(a), Some(b)],
        _ => bail!("--unix-socket must be given twice: once for A and once for B"),
    };
    let asked = |text, socket| asked(&arguments.request, &arguments.mine, (text, socket), seed);
    let a = asked(&arguments.a, sockets[0]).context("A")?;
    let b = asked(&arguments.b, sockets[1]).context("B")?;
    let programs = [a.clone(), a, b].map(|request| Program::Request(Box::new(request)));
    Ok(three_arms(CANDIDATE, ["A", "B"], programs))
}

/// Returns the first, the first again, and the candidate; the latter two are judged against the
/// first.
pub(super) fn three_arms(
    candidate: &str,
    [first, other]: [&str; 2],
    [of_first, of_same, of_other]: [Program; 3],
) -> Vec<Arm> {
    let beside = |name: &str, title: &str, role, program| Arm {
        against: Some(BASELINE.to_owned()),
        ..Arm::new(name, title, role, program)
    };
    let again = format!("{first}, again");
    vec![
        Arm::new(BASELINE, first, Role::Baseline, of_first),
        beside(CONTROL, &again, Role::Control, of_same),
        beside(candidate, other, Role::Step, of_other),
    ]
}
