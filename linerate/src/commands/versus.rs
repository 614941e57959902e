//! `linerate versus URL_A URL_B`: which of two running servers is better?

use std::process::ExitCode;

use anyhow::bail;
use model::study::{
    Arm, BaselineSpec, Design, DesignKind, LatencyDesign, Program, Role, STUDY_FORMAT, Study,
    url_without_secrets,
};
use model::{Judgement, Workload};
use study::arms::{BASELINE, CONTROL};
use study::{Order, Targets};
use wire::url::HttpUrl;

use crate::console::Console;
use crate::ownership;
use crate::run::{self, RunFlags};
use crate::slo::Slo;

/// Which of two running servers is better: CPU per request and throughput, in pairs, in 30 s
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  linerate versus http://127.0.0.1:8080/ http://127.0.0.1:8081/
  linerate versus http://127.0.0.1:8080/api http://127.0.0.1:9090/api --slo 'p99<5ms'

The two are loaded in turn, in random order, with the first also standing in as its own control.
CPU per request is compared where the servers run on this machine and their processes may be
seen: as their user or as root. Absolute throughput counts only with the client elsewhere.")]
pub(crate) struct Arguments {
    /// The first server, the reference: http://host:port/path
    #[arg(value_name = "URL_A")]
    a: String,
    /// The second server
    #[arg(value_name = "URL_B")]
    b: String,
    /// Also ask whether each holds a latency at a common rate, such as p99<5ms
    #[arg(long, value_name = "QUANTILE<TIME")]
    slo: Option<Slo>,
    /// Connections held open to each server
    #[arg(short, long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// The smallest difference worth knowing, in per cent
    #[arg(long, default_value_t = 3.0, value_name = "PERCENT")]
    smallest_effect: f64,
    /// I may load this host, which is neither this machine nor a namespace of mine
    #[arg(long, value_name = "HOST")]
    mine: Vec<String>,
    #[command(flatten)]
    flags: RunFlags,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    if !(0.1..=90.0).contains(&arguments.smallest_effect) {
        bail!(
            "--smallest-effect takes per cent from 0.1 to 90, not {}",
            arguments.smallest_effect
        );
    }
    for url in [&arguments.a, &arguments.b] {
        ownership::addresses(&HttpUrl::parse(url)?, &arguments.mine)?;
    }
    let mut study = study(arguments);
    arguments.flags.shorten(&mut study);
    let seed = arguments.flags.seed();
    let folder = arguments.flags.folder(&study.name);
    let order = Order {
        study,
        targets: Targets::Running(arms(arguments)),
        seed,
        command: command(arguments, seed),
        linerate_version: env!("CARGO_PKG_VERSION").to_owned(),
        full: arguments.flags.full,
    };
    let code = run::measure(order, &folder, &arguments.flags, console)?;
    if let (Some(slo), false) = (&arguments.slo, arguments.flags.json) {
        let (_, _, judgement) = run::judged(&folder)?;
        say_slo(slo, &judgement, console);
    }
    Ok(code)
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
        threads: 1,
    };
    Study {
        latency: arguments.slo.as_ref().map(|_| LatencyDesign {
            rate_share: 0.7,
            blocks: 4,
            score_ms: 1000,
        }),
        ..comparison(question, workload, arguments.smallest_effect / 100.0)
    }
}

/// The study of two servers in closed loop; the smallest effect sought is a share.
pub(super) fn comparison(question: String, workload: Workload, smallest_effect: f64) -> Study {
    Study {
        format: STUDY_FORMAT,
        name: "versus".to_owned(),
        title: "Two running servers".to_owned(),
        question,
        method: "Both are loaded in closed loop in turn, in random order within each round, over \
                 fresh connections for each block; the first stands in a second time as its own \
                 control. Verdicts come from pairs of blocks of one round."
            .to_owned(),
        pitfalls: vec![
            "Both servers ran already: what differs between restarts of either is not sampled."
                .to_owned(),
        ],
        source: None,
        design: Design {
            kind: DesignKind::Compare,
            rounds: 16,
            settle_ms: 60,
            score_ms: 450,
            smallest_effect,
        },
        workload,
        latency: None,
        floor: false,
        baseline: BaselineSpec {
            title: "A".to_owned(),
            levers: Vec::new(),
            published: None,
        },
        steps: Vec::new(),
    }
}

fn arms(arguments: &Arguments) -> Vec<Arm> {
    let arm = |name: &str, title: String, role, url: &str, against: Option<&str>| Arm {
        name: name.to_owned(),
        title,
        role,
        program: Program::Url(url.to_owned()),
        levers: Vec::new(),
        against: against.map(str::to_owned),
        published: None,
    };
    let (a, b) = (&arguments.a, &arguments.b);
    vec![
        arm(BASELINE, "A".to_owned(), Role::Baseline, a, None),
        arm(
            CONTROL,
            "A, again".to_owned(),
            Role::Control,
            a,
            Some(BASELINE),
        ),
        arm("b", "B".to_owned(), Role::Step, b, Some(BASELINE)),
    ]
}

/// The command that repeats it; what identifies somebody has to be put in again by hand.
fn command(arguments: &Arguments, seed: u64) -> String {
    let slo = arguments
        .slo
        .as_ref()
        .map_or(String::new(), |slo| format!(" --slo '{slo}'"));
    format!(
        "linerate versus {} {} --connections {}{slo} --seed {seed}",
        url_without_secrets(&arguments.a),
        url_without_secrets(&arguments.b),
        arguments.connections,
    )
}

fn say_slo(slo: &Slo, judgement: &Judgement, console: &Console) {
    for result in &judgement.latency {
        console.say(&format!("{}: {}", result.title, slo.words(result)));
    }
}
