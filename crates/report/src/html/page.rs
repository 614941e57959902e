//! What the page of servers under load shows, as plain text; the template only lays it out.

use model::judgement::{ArmResult, LatencyResult, Outcome, StepResult};
use model::study::DesignKind;
use model::{BlockRecord, Judgement, Role, RunRecord, Verdict};
use serde::Serialize;

use super::common::{self, Common, Figure, Key, figure};
use crate::between_boots::{self, BootsView};
use crate::chart;
use crate::not_crossed::{self, NotCrossed};
use crate::rows::Row;
use crate::side_by_side::{self, LatencyByArm};
use crate::whole::{self, WholeLadder};
use crate::{answer, numbers, rows, sentences};

const SERIES_CAPTION: &str = "One mark for each block. What the machine does to every arm rises and falls in all lanes \
     together, and pairs within a round cancel it. Hollow marks are the control, which is the \
     baseline again.";

/// Everything on the page. Only charts and the style are markup.
#[derive(Serialize)]
pub(crate) struct Page<'a> {
    #[serde(flatten)]
    common: Common<'a>,
    hidden_cpu: Option<&'static str>,
    ladder: Option<Figure>,
    ladder_caption: String,
    not_crossed: Vec<NotCrossed>,
    gains: Option<Figure>,
    gains_caption: String,
    latency: Option<Figure>,
    is_ladder: bool,
    against: &'static str,
    whole: Option<String>,
    /// Heading of the whole machine's account, and of its parts.
    machine: &'static str,
    machine_parts: [&'static str; 5],
    both_ends: Option<WholeLadder>,
    between_boots: Option<BootsView>,
    rows: Vec<RowWithReason>,
    shows: Columns,
    latency_design: Option<String>,
    latency_arms: Vec<String>,
    latency_rows: Vec<LatencyRow>,
    /// In the place of chart and rows, where there are many arms.
    latency_by_arm: Option<LatencyByArm>,
}

#[derive(Serialize)]
struct RowWithReason {
    row: Row,
    why: String,
}

/// Which columns of the table hold anything.
#[derive(Serialize)]
struct Columns {
    server_cpu: bool,
    machine: bool,
    implied: bool,
    floor: bool,
    published: bool,
}

impl Columns {
    fn of(rows: &[RowWithReason]) -> Self {
        let any = |cell: fn(&Row) -> &String| rows.iter().any(|row| !cell(&row.row).is_empty());
        Self {
            server_cpu: any(|row| &row.server_cpu.value),
            machine: any(|row| &row.machine.value),
            implied: any(|row| &row.implied.value),
            floor: any(|row| &row.share_of_floor.value),
            published: any(|row| &row.published_rate),
        }
    }
}

#[derive(Serialize)]
struct LatencyRow {
    quantile: String,
    arms: Vec<LatencyCell>,
}

#[derive(Serialize)]
struct LatencyCell {
    response: String,
    service: String,
}

/// Gathers the page of a judged run.
pub(crate) fn page<'a>(
    run: &'a RunRecord,
    blocks: &[BlockRecord],
    judgement: &'a Judgement,
    style: &'a str,
) -> Page<'a> {
    let latency = sentences::latency_for_readers(run, judgement);
    let latency_by_arm = side_by_side::latency(&latency);
    let (study, rows) = (&run.study, rows_with_reasons(run, judgement));
    Page {
        common: Common {
            pitfalls: &study.pitfalls,
            answer: answer::sentence(run, judgement),
            keys: keys(run, judgement),
            trust: trust(run, judgement),
            series: figure("series", |form| chart::series(blocks, judgement, form)),
            series_caption: SERIES_CAPTION,
            source: common::source(study.source.as_ref()),
            doubts: common::doubts(&judgement.doubts),
            under_test: sentences::under_test(run),
            workload: workload(run),
            rig: sentences::capitalised(&sentences::hosts_and_link(run)),
            ..Common::of(
                run,
                [&study.title, &study.name, &study.question, &study.method],
                style,
            )
        },
        hidden_cpu: sentences::hidden_cpu(judgement),
        ladder: figure("ladder", |form| chart::ladder(run, judgement, form)),
        ladder_caption: ladder_caption(run, judgement),
        not_crossed: not_crossed::not_crossed(run, judgement),
        gains: figure("gains", |form| chart::gains(run, judgement, form)),
        gains_caption: gains_caption(judgement),
        latency: figure("latency", |form| {
            let is_legible = latency_by_arm.is_none();
            is_legible.then(|| chart::latency(&latency, form)).flatten()
        }),
        is_ladder: study.design.kind == DesignKind::Ladder,
        against: sentences::compared_with(run),
        whole: sentences::whole_effect(run, judgement),
        machine: sentences::whole_machine(run),
        machine_parts: rows::MACHINE_PARTS,
        both_ends: whole::of(run, judgement),
        between_boots: between_boots::of(run, judgement),
        shows: Columns::of(&rows),
        rows,
        latency_design: sentences::latency_design(&latency),
        latency_arms: latency.iter().map(|arm| arm.title.clone()).collect(),
        latency_rows: latency_rows(&latency),
        latency_by_arm,
    }
}

fn rows_with_reasons(run: &RunRecord, judgement: &Judgement) -> Vec<RowWithReason> {
    let why = |name: &str| {
        let step = run.study.steps.iter().find(|step| step.name == name);
        step.map_or_else(String::new, |step| step.why.clone())
    };
    rows::rows(judgement)
        .into_iter()
        .map(|row| RowWithReason {
            why: why(&row.name),
            row,
        })
        .collect()
}

fn ladder_caption(run: &RunRecord, judgement: &Judgement) -> String {
    let mut parts = Vec::new();
    if run.study.design.kind == DesignKind::Ladder {
        parts.push("Each step is taken on top of those before it.");
    }
    if judgement.arms.iter().any(|arm| arm.role == Role::Floor) {
        parts.push(
            "The grey part of a bar is the floor: what a bare echo over the same sockets and bytes \
             costs on this kernel.",
        );
    }
    parts.push("The bracket is the interval of the median.");
    parts.join(" ")
}

fn gains_caption(judgement: &Judgement) -> String {
    let mut parts = vec![
        "Gains come from pairs of blocks within a round, so what drifts from round to round does \
         not touch them; the medians above it does.",
    ];
    if sentences::noise(judgement).is_some() {
        parts.push("The grey band is how far two identical servers differed in this run.");
    }
    let is_void = |step: &StepResult| step.verdict == Verdict::Invalid;
    if judgement.steps.iter().any(is_void) {
        parts.push("Hollow marks have no verdict; the doubts say why.");
    }
    parts.join(" ")
}

/// The few figures that a reader takes along.
fn keys(run: &RunRecord, judgement: &Judgement) -> Vec<Key> {
    let key = |figure: String, caption: &str| Key {
        figure,
        caption: caption.to_owned(),
    };
    let mut keys = Vec::new();
    if side_by_side::is_so(run, judgement) {
        keys.extend(
            side_by_side::range(judgement).map(|(figure, caption)| Key { figure, caption }),
        );
    } else if let Some((first, last)) = ends(judgement) {
        let is_ladder = run.study.design.kind == DesignKind::Ladder;
        keys.extend(from_to(judgement.outcome, is_ladder, first, last));
        if let (Outcome::ServerCpuPerRequest, true, Some(rate)) =
            (judgement.outcome, is_ladder, last.implied_rps_per_cpu)
        {
            let caption = "requests/s that this implies for one server CPU";
            keys.push(key(numbers::rate(rate.value), caption));
        }
        if let Some(share) = last.share_of_floor {
            let caption = "of what this kernel can do: a bare echo over the same sockets";
            keys.push(key(numbers::share(share.value), caption));
        }
    }
    if let Some(effect) = sentences::noise(judgement) {
        let spread = format!("{} %", sentences::spread(&effect));
        keys.push(key(spread, "is how far two identical servers differ here"));
    }
    keys
}

/// The arms whose comparison is the answer.
fn ends(judgement: &Judgement) -> Option<(&ArmResult, &ArmResult)> {
    let ends = whole::confirmed_ends(judgement).or_else(|| answer::climbed(judgement));
    ends.map(|(first, last, _)| (first, last))
}

fn from_to(outcome: Outcome, is_ladder: bool, first: &ArmResult, last: &ArmResult) -> Option<Key> {
    let (figure, noun) = match outcome {
        Outcome::ServerCpuPerRequest => {
            let [first, last] = [first, last].map(|arm| arm.server_cpu_us_per_request);
            let first = numbers::micros_roughly(first?.value);
            let last = numbers::micros_roughly(last?.value);
            let first = first.trim_end_matches(" µs");
            (format!("{first} → {last}"), "server CPU per request")
        }
        Outcome::Throughput => {
            let [first, last] = [first, last].map(|arm| arm.throughput_rps);
            let [first, last] = [first?, last?].map(|found| numbers::rate(found.value));
            (format!("{first} → {last}"), "requests/s seen")
        }
    };
    let caption = if is_ladder {
        format!("{noun}, first to last")
    } else {
        format!("{noun}, {} → {}", first.title, last.title)
    };
    Some(Key { figure, caption })
}

fn trust(run: &RunRecord, judgement: &Judgement) -> Vec<String> {
    [
        sentences::noise_floor(run, judgement),
        sentences::smallest_visible(judgement),
        sentences::sequential_error(judgement),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn latency_rows(results: &[LatencyResult]) -> Vec<LatencyRow> {
    sentences::carried_quantiles(results)
        .into_iter()
        .map(|quantile| LatencyRow {
            quantile: numbers::quantile(quantile),
            arms: results
                .iter()
                .map(|result| LatencyCell {
                    response: sentences::quantile_with_interval(&result.response, quantile),
                    service: sentences::quantile_alone(&result.service, quantile),
                })
                .collect(),
        })
        .collect()
}

/// The request without its query, which may hold what is nobody's business.
fn workload(run: &RunRecord) -> String {
    let (workload, design) = (&run.study.workload, &run.study.design);
    format!(
        "GET {} over {} keep-alive connections from {} load generator thread{}; {} rounds of {} ms \
         to settle and {} ms scored",
        workload.path.split(['?', '#']).next().unwrap_or_default(),
        workload.connections,
        workload.threads,
        if workload.threads == 1 { "" } else { "s" },
        design.rounds,
        design.settle_ms,
        design.score_ms
    )
}
