//! `linerate probe cores`: how long a cache line takes between each two CPUs.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use machine::instruments::cpu::MachineWatch;
use machine::probes::cores::{LINES, each_pair};
use minijinja::context;
use minijinja::value::Serde;
use model::cores::{CoreDistances, CorePair};
use report::cores::About;
use schemars::JsonSchema;
use serde::Serialize;
use sys::stop::{Again, StopSignal};

use super::CpuChoice;
use crate::console::Console;
use crate::progress_line::ProgressLine;
use crate::shape;
use crate::stopping;
use crate::told::{self, template};

/// Share of the CPUs' time stolen by the hypervisor from which on a note beside the answer says so.
const STOLEN_MUCH: f64 = 0.01;
/// Plain lines of progress where nothing can be drawn.
const PLAIN_LINES: usize = 10;
/// Least number of pairs for which progress is worth plain lines: fewer take too short a time.
const PAIRS_OF_A_WAIT: usize = 60;

/// Measure how long a cache line takes between each two CPUs, and which CPUs are near one another
///
/// Two threads, each pinned to its own CPU, pass a cache line back and forth, for at most 50 ms a
/// pair: eight lines in fresh memory, half of it near either CPU, and the pairs in random order.
/// Exchange is what locks do, and what core-to-core-latency measures: both threads compare and
/// exchange the number on one line. Handover is what rings do: each thread writes a line that the
/// other reads. Times are one way, half of a round trip. They are medians, since a mean says more
/// about interruptions; the interval is over the eight lines. Which CPUs are near one another is
/// found from the times alone, not from what the kernel reports about the machine.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Which CPUs are near one another, and how far is it to the others?
    linerate probe cores
  Between four of them, with every pair's interval and p99:
    linerate probe cores --cpus 0-3 --json
  In the format of core-to-core-latency --csv, with medians instead of means:
    linerate probe cores --csv > cores.csv
  A heat map for a browser:
    linerate probe cores --html cores.html")]
pub(crate) struct Arguments {
    #[command(flatten)]
    cpus: CpuChoice,
    /// Print the medians in ns as a matrix: a row and a column for each CPU, the lower triangle filled
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print one JSON value (docs/schema/probe-cores.json)
    #[arg(long)]
    json: bool,
    /// Also write a page with the heat map to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// How long a cache line takes between each two CPUs of this machine.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ProbeCores {
    /// Version of the program.
    linerate_version: &'static str,
    /// The answer in one sentence.
    answer: String,
    /// Cache lines measured for each pair, count.
    lines: u32,
    #[serde(flatten)]
    distances: CoreDistances,
    /// Share of the CPUs' time that the hypervisor stole during the measurement, 0 to 1; null
    /// where it is hidden.
    stolen_share: Option<f64>,
    /// Remarks that qualify the answer.
    notes: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let cpus = arguments.cpus.chosen()?;
    ensure!(
        cpus.len() > 1,
        "CPU {} has no other to hand a cache line to: give --cpus two or more; these may be used: {}",
        sys::cpu::format_list(&cpus),
        sys::cpu::format_list(&sys::cpu::allowed()?)
    );
    let _stop = StopSignal::listen(Again::Kills)?;
    let Some(cores) = measure(&cpus, console)? else {
        return Ok(stopped_too_early(console));
    };
    if arguments.csv {
        console.say(&report::cores::csv(&cores.distances));
    } else if arguments.json {
        console.say(&shape::lines(&cores));
    } else {
        console.say(&cores.page(console.width()));
    }
    if let Some(path) = &arguments.html {
        let page = cores.for_a_browser(arguments);
        std::fs::write(path, page).with_context(|| format!("writing {}", path.display()))?;
    }
    let stopped = sys::stop::heard().map(stopping::exit_code);
    Ok(stopped.unwrap_or(ExitCode::SUCCESS))
}

/// Measures each pair of CPUs; returns `None` if it was stopped before the first was measured.
fn measure(cpus: &[usize], console: &Console) -> anyhow::Result<Option<ProbeCores>> {
    let planned = cpus.len() * (cpus.len() - 1) / 2;
    let plain_lines = if planned < PAIRS_OF_A_WAIT {
        0
    } else {
        PLAIN_LINES
    };
    let mut progress = ProgressLine::new(console, plain_lines);
    let seed = u64::from_ne_bytes(sys::random::bytes()?);
    let mut watch = MachineWatch::new();
    let begun = sys::clock::now();
    watch.open();
    let mut pairs: Vec<CorePair> = Vec::with_capacity(planned);
    let measured = each_pair(cpus, seed, |two, samples| {
        pairs.extend(judge::cores::pair(
            two,
            &samples.exchange_ns,
            &samples.handover_ns,
        ));
        let done = pairs.len();
        progress.step(done, planned, &format!("{done} of {planned} pairs of CPUs"));
    });
    let cpu_time_ns = begun.elapsed().as_nanos() as f64 * sys::cpu::allowed()?.len() as f64;
    let stolen_ns = watch.spent().map(|spent| spent.stolen_ns as f64);
    progress.end();
    measured?;
    if pairs.is_empty() {
        return Ok(None);
    }
    let stopped = sys::stop::heard().filter(|_| pairs.len() < planned);
    let stopped = stopped.map(stopping::name);
    let distances = judge::cores::distances(cpus, pairs);
    let stolen_share = stolen_ns.map(|ns| ns / cpu_time_ns);
    Ok(Some(ProbeCores {
        linerate_version: shape::VERSION,
        answer: report::cores::answer(&distances),
        lines: LINES,
        distances,
        stolen_share,
        notes: notes(stopped, stolen_share),
    }))
}

fn stopped_too_early(console: &Console) -> ExitCode {
    let signal = sys::stop::heard().unwrap_or_default();
    let by = stopping::name(signal);
    console.error(&format!("stopped by {by} before a pair was measured"));
    stopping::exit_code(signal)
}

fn notes(stopped: Option<&str>, stolen_share: Option<f64>) -> Vec<String> {
    let stopped = stopped.map(|by| format!("stopped by {by} before all pairs were measured"));
    let much = stolen_share.filter(|share| *share >= STOLEN_MUCH);
    let stolen = much.map(|share| {
        let share = report::numbers::share(share);
        format!(
            "the hypervisor stole {share} of the CPUs' time: medians are robust to that, p99 is not"
        )
    });
    stopped.into_iter().chain(stolen).collect()
}

impl ProbeCores {
    fn page(&self, width: usize) -> String {
        let page = context! {
            // As wide as the terminal.
            matrix => report::cores::matrix(&self.distances, width.saturating_sub(2)),
            levels => report::cores::levels(&self.distances),
            ..Serde(self)
        };
        told::page(&page, template!("probe-cores"), width)
    }

    fn for_a_browser(&self, arguments: &Arguments) -> String {
        let facts = machine::facts::collect(false);
        let cpus = arguments
            .cpus
            .cpus
            .as_ref()
            .map(|list| format!(" --cpus {list}"));
        let now = humantime::format_rfc3339_seconds(sys::clock::wall());
        let kernel = format!("kernel {}", facts.kernel_release);
        report::cores::html(
            &self.distances,
            &About {
                version: self.linerate_version,
                kicker: vec![
                    "probe cores".to_owned(),
                    now.to_string(),
                    facts.cpu_model,
                    kernel,
                ],
                notes: self.notes.clone(),
                command: &format!(
                    "linerate probe cores{} --html FILE",
                    cpus.unwrap_or_default()
                ),
            },
        )
    }
}
