//! `linerate levers try`: what would a running server gain from a setting?

mod choice;
pub(crate) mod outcome;
mod their_load;

use std::cell::OnceCell;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::ValueHint;
use machine::targets::{self, TargetError};
use model::cpus::Workers;
use model::lever::{Leave, LeverSetting};
use model::study::{BaselineSpec, StepSpec, url_without_secrets};
use model::{Study, Workload};
use study::{Order, Targets};
use wire::url::HttpUrl;

use super::overdue;
use crate::agents::Place;
use crate::commands::versus;
use crate::console::Console;
use crate::left_set;
use crate::ownership;
use crate::repeat;
use crate::request::{RequestFlags, WHERE};
use crate::run::{self, RunFlags};
use crate::shown;
use crate::values;
use choice::{Choice, Chooser};

/// Measure levers on a running server, and put them back
///
/// The server is neither restarted nor configured. Levers that take hold at once are set and put
/// back between blocks of load, in random order within each round, over fresh connections; the
/// unchanged machine is measured twice in each round, as its own control. The verdict is about
/// server CPU per request where the server's processes are visible, as their user or as root;
/// otherwise about throughput. Each old value is in the journal before a new one is set, and is put
/// back even if all of Linerate is killed.
///
/// With --their-load nothing is sent: levers are set and put back under the server's own traffic,
/// and the verdict is about its CPU per kilobyte that its TCP connections carry, as the kernel
/// counts them.
///
/// Levers of the network namespace affect all servers there while a block lasts. Levers that reach
/// further, or a device, are tried with --host.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  What would the server at port 8080 gain from these?
    sudo linerate levers try tcp-autocorking=0 busy-poll=50 --host --url http://127.0.0.1:8080/
  All levers that take hold at once and do no harm, in three minutes:
    sudo linerate levers try --all-safe --port 8080 --for 3m
  With a POST of a body, and the proven levers as a file of sysctls:
    sudo linerate levers try --all-safe --url http://127.0.0.1:8080/items --body @item.json --json \\
      | jq -r .levers.sysctl_d
  Under the server's own traffic, with no load of ours:
    sudo linerate levers try --all-safe --port 8080 --their-load --for 10m
  On a host of a rig, where nothing of this machine is touched:
    linerate rig exec server -- linerate levers try segmentation-offload=off --port 8080

Levers that need a restart of the server are not tried, but listed with the commands that measure them.

Exit codes:
  0    measured, and everything is as it was before
  2    could not run
  3    something that was set could not be put back: linerate levers journal")]
pub(crate) struct Arguments {
    /// Levers, each with `=VALUE` for another value than the recommended one
    #[arg(value_name = "LEVER[=VALUE]", required_unless_present = "all_safe")]
    levers: Vec<LeverSetting>,
    /// All levers that take hold at once, at worst cost speed and have another known value
    #[arg(long, conflicts_with = "levers")]
    all_safe: bool,
    /// Also set levers that reach this whole machine, or a device
    #[arg(long)]
    host: bool,
    /// URL of the server, and what to request there
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, required_unless_present = "port", conflicts_with = "port", help_heading = WHERE)]
    url: Option<String>,
    /// Short for --url http://127.0.0.1:PORT/
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = WHERE)]
    port: Option<u16>,
    /// This host is mine: needed for another address of this machine than loopback
    #[arg(long, value_name = "HOST", help_heading = WHERE, hide_short_help = true)]
    mine: Vec<String>,
    /// Offer no load: measure under the server's own traffic
    ///
    /// Its CPU time must be visible, as its user or as root. A kilobyte is 1,000 bytes of payload,
    /// in either direction. What takes hold when a connection is opened is tried where clients open
    /// new ones within seconds, and each block waits for those: older ones keep what they have.
    #[arg(long, conflicts_with_all = NOT_THEIRS, help_heading = WHERE)]
    their_load: bool,
    /// Connections held open to the server
    #[arg(short, long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Load threads; connections are dealt evenly between them
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), hide_short_help = true)]
    threads: u32,
    /// The smallest difference worth knowing, in per cent
    #[arg(long, default_value = "3", value_name = "PERCENT", value_parser = values::parse_percent, hide_short_help = true)]
    smallest_effect: f64,
    /// Measure for about this long, instead of 16 rounds
    #[arg(long = "for", value_name = "TIME", value_parser = values::parse_duration, conflicts_with_all = ["rounds", "smoke"])]
    time: Option<Duration>,
    #[command(flatten)]
    request: RequestFlags,
    #[command(flatten)]
    flags: RunFlags,
}

/// Flags that say how load is offered, by their names in clap.
const NOT_THEIRS: [&str; 13] = [
    "connections",
    "threads",
    "http2",
    "streams",
    "pipeline",
    "mix",
    "method",
    "headers",
    "body",
    "ca",
    "insecure",
    "resume",
    "tls",
];

/// Fewest rounds that give verdicts.
const FEWEST_ROUNDS: u32 = 10;

pub(super) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    arguments.request.check()?;
    let url = arguments.url();
    let seed = arguments.flags.seed();
    let address = address(arguments, &url)?;
    // What a killed run has left behind is not the normal state of the machine.
    overdue::put_back(console)?;
    let targets = targets(arguments, &url, address, seed)?;
    let choice = choice(arguments, &url, address)?;
    if choice.tried.is_empty() {
        if let Some(left) = left_set::see(true, Ok(None), console)? {
            return Ok(left);
        }
        let why = outcome::untried(&choice.untried, console);
        bail!("none of these can be tried here, and nothing was changed. {why}");
    }
    let mut study = study(arguments, &url, &choice);
    arguments.flags.shorten(&mut study);
    if let Some(time) = arguments.time {
        study.design.rounds = rounds(time, &study)?;
    }
    let folder = arguments.flags.folder(&study.name);
    let command = repeat::command(&[], seed, console);
    let order = Order {
        full: arguments.flags.full,
        on_host: arguments.host,
        ..Order::new(study, targets, seed, command)
    };
    if let Some(stopped) =
        run::measure(order, &Place::Loopback, &folder, &arguments.flags, console)?
    {
        return Ok(stopped);
    }
    shown::show_with(&folder, arguments.flags.json, console, |judgement| {
        Some(outcome::of(choice, judgement, console))
    })?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn url(&self) -> String {
        let of_port = |port| format!("http://127.0.0.1:{port}/");
        let url = self.url.clone().or_else(|| self.port.map(of_port));
        url.expect("one of the two is required")
    }

    fn leave(&self) -> Leave {
        Leave {
            on_host: self.host,
            in_place: true,
            ..Leave::default()
        }
    }
}

/// Address where the server listens. Fails if it does not run here, because levers of another
/// machine are not set.
fn address(arguments: &Arguments, text: &str) -> anyhow::Result<SocketAddr> {
    let url = HttpUrl::parse(text)?;
    let mine = match arguments.their_load {
        // Nothing is sent there, so nobody has to allow it.
        true => std::slice::from_ref(&url.host),
        false => &arguments.mine,
    };
    for address in ownership::addresses(&url, mine)? {
        match targets::listening_on(address) {
            Err(TargetError::NobodyListens(_)) => {}
            // Who owns the server decides only whether its CPU time is visible.
            _ => return Ok(address),
        }
    }
    bail!(
        "nothing listens at {} in this network namespace; levers are set where the server runs: start \
         it, or run this there",
        url_without_secrets(text)
    )
}

/// What is measured: the server under load of ours, or under its own traffic.
fn targets(
    arguments: &Arguments,
    url: &str,
    address: SocketAddr,
    seed: u64,
) -> anyhow::Result<Targets> {
    if arguments.their_load {
        their_load::look(address, &url_without_secrets(url))?;
        return Ok(Targets::Watched(format!("http://{address}/")));
    }
    let request = versus::asked(&arguments.request, &arguments.mine, (url, None), seed)?;
    Ok(Targets::Tried(Box::new(request)))
}

fn choice(arguments: &Arguments, url: &str, address: SocketAddr) -> anyhow::Result<Choice> {
    let url = url_without_secrets(url);
    let chooser = Chooser {
        leave: arguments.leave(),
        url: &url,
        their_load: arguments.their_load.then_some(address),
        takeover_ms: OnceCell::new(),
    };
    let choice = match arguments.all_safe {
        true => chooser.of_all_safe(),
        false => chooser.of_typed(&arguments.levers)?,
    };
    let settle_ms = chooser.settle_ms();
    Ok(Choice {
        settle_ms,
        ..choice
    })
}

fn study(arguments: &Arguments, url: &str, choice: &Choice) -> Study {
    let question = format!(
        "What would the server at {} gain from these levers?",
        url_without_secrets(url)
    );
    let workload = Workload {
        path: "/".to_owned(),
        connections: arguments.connections,
        threads: arguments.threads,
        workers: Workers::default(),
    };
    let comparison = versus::comparison(question, workload, arguments.smallest_effect / 100.0);
    let step = |setting: &LeverSetting| StepSpec {
        add: vec![setting.clone()],
        ..StepSpec::named(setting.to_string(), setting.to_string())
    };
    let tried = Study {
        name: "levers-try".to_owned(),
        title: "Levers on a running server".to_owned(),
        method: format!(
            "The server is loaded in closed loop with each lever by itself and without, in random \
             order within each round, over fresh connections for each block; the unchanged machine \
             is measured a second time as its own control. Verdicts come from pairs of blocks of one \
             round. {}",
            arguments.request.sentence()
        ),
        pitfalls: vec![
            "One start of the server was measured: what differs between its restarts is not sampled."
                .to_owned(),
            "Each lever was set by itself: two together may gain more or less than both alone."
                .to_owned(),
        ],
        baseline: BaselineSpec {
            title: "as it is".to_owned(),
            ..comparison.baseline
        },
        steps: choice.tried.iter().map(step).collect(),
        ..comparison
    };
    match arguments.their_load {
        true => under_their_load(tried, choice.settle_ms),
        false => tried,
    }
}

/// The study as it is under the server's own traffic.
fn under_their_load(tried: Study, settle_ms: Option<u32>) -> Study {
    let mut study = Study {
        name: "levers-try-their-load".to_owned(),
        title: "Levers on a running server, under its own traffic".to_owned(),
        method: "No load is offered. Each lever by itself is set and put back under the server's own traffic, in \
                 random order within each round; the unchanged machine is measured a second time as its own \
                 control. What is compared is the CPU time of the server's processes per kilobyte of payload that \
                 its TCP connections carried, in either direction, by the kernel's own count of each connection. Verdicts come from pairs of neighbouring blocks of one round."
            .to_owned(),
        ..tried
    };
    study.design.score_ms = their_load::LOOK_MS;
    study.pitfalls.push(
        "A kilobyte is not a request: if what clients ask for changes from block to block, so does its cost, and \
         the intervals widen. CPU time for anything but TCP payload, such as HTTP/3 or work in the background, is \
         included."
            .to_owned(),
    );
    if let Some(settle_ms) = settle_ms {
        study.design.settle_ms = study.design.settle_ms.max(settle_ms);
        study.pitfalls.push(
            "Some of these levers take hold when a connection is opened: each block waits until connections that \
             were opened after its levers were set carry nearly all traffic. Those that the server opens itself, \
             as a proxy does, are not observed, and keep what they had."
                .to_owned(),
        );
    }
    study
}

/// Number of rounds that fit into the time.
fn rounds(time: Duration, study: &Study) -> anyhow::Result<u32> {
    let levers = study.steps.len();
    // The unchanged machine is measured twice in each round.
    let rounds = versus::rounds_within(study, levers + 2, time);
    ensure!(
        rounds >= FEWEST_ROUNDS,
        "--for is too short for {levers} levers: verdicts need {FEWEST_ROUNDS} rounds, and there is time \
         for {rounds}; give it more time, or fewer levers"
    );
    Ok(rounds)
}
