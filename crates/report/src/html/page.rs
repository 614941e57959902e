//! What the page's template shows, as plain text; the template only lays it out.

use model::judgement::{ArmResult, Outcome};
use model::study::DesignKind;
use model::{Judgement, RunRecord};
use serde::Serialize;

use super::facts::{Fact, facts};
use crate::chart::{self, Form};
use crate::rows::Row;
use crate::{answer, numbers, rows, sentences};

/// Everything on the page. Only `style` and charts are markup.
#[derive(Serialize)]
pub(crate) struct Page<'a> {
    style: &'a str,
    title: &'a str,
    study: &'a str,
    question: &'a str,
    method: &'a str,
    pitfalls: &'a [String],
    answer: String,
    hidden_cpu: Option<&'static str>,
    started: String,
    machine: String,
    keys: Vec<Key>,
    ladder: Option<Figure>,
    gains: Option<Figure>,
    latency: Option<Figure>,
    is_ladder: bool,
    against: &'static str,
    whole: Option<String>,
    rows: Vec<RowWithReason>,
    has_published: bool,
    trust: Vec<String>,
    latency_design: Option<String>,
    latency_arms: Vec<&'a str>,
    latency_rows: Vec<LatencyRow>,
    source: Option<SourceView<'a>>,
    doubts: Vec<DoubtView>,
    workload: String,
    rig: String,
    facts: Vec<Fact>,
    mitigations: Vec<Fact>,
    command: &'a str,
    seed: u64,
    version: &'a str,
}

/// A figure beside the answer.
#[derive(Serialize)]
struct Key {
    figure: String,
    caption: String,
}

/// A chart in its two forms, as SVG.
#[derive(Serialize)]
struct Figure {
    name: &'static str,
    wide: String,
    narrow: String,
}

#[derive(Serialize)]
struct RowWithReason {
    row: Row,
    why: String,
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

#[derive(Serialize)]
struct SourceView<'a> {
    title: &'a str,
    url: &'a str,
    is_web: bool,
    year: u32,
    machine: &'a str,
}

#[derive(Serialize)]
struct DoubtView {
    what: String,
    advice: String,
}

/// Gathers the page of a judged run.
pub(crate) fn page<'a>(run: &'a RunRecord, judgement: &'a Judgement, style: &'a str) -> Page<'a> {
    let (study, rows) = (&run.study, rows_with_reasons(run, judgement));
    Page {
        style,
        title: &study.title,
        study: &study.name,
        question: &study.question,
        method: &study.method,
        pitfalls: &study.pitfalls,
        answer: answer::sentence(run, judgement),
        hidden_cpu: sentences::hidden_cpu(judgement),
        started: started(run),
        machine: format!(
            "{}, {} CPUs, kernel {}",
            run.facts.cpu_model, run.facts.cpus_online, run.facts.kernel_release
        ),
        keys: keys(judgement),
        ladder: figure("ladder", |form| chart::ladder(run, judgement, form)),
        gains: figure("gains", |form| chart::gains(run, judgement, form)),
        latency: figure("latency", |form| chart::latency(&judgement.latency, form)),
        is_ladder: study.design.kind == DesignKind::Ladder,
        against: sentences::compared_with(run),
        whole: sentences::whole_effect(run, judgement),
        has_published: rows.iter().any(|row| !row.row.published_rate.is_empty()),
        rows,
        trust: trust(judgement),
        latency_design: sentences::latency_design(&judgement.latency),
        latency_arms: judgement
            .latency
            .iter()
            .map(|arm| arm.title.as_str())
            .collect(),
        latency_rows: latency_rows(judgement),
        source: source(run),
        doubts: doubts(run, judgement),
        workload: workload(run),
        rig: sentences::capitalised(&sentences::rig(&run.rig)),
        facts: facts(run),
        mitigations: super::facts::mitigations(run),
        command: &run.command,
        seed: run.seed,
        version: &run.linerate_version,
    }
}

/// `2026-03-14 09:26 UTC`; a time of another shape is shown as it is.
fn started(run: &RunRecord) -> String {
    let text = &run.started_utc;
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => text.clone(),
    }
}

fn figure(name: &'static str, draw: impl Fn(Form) -> Option<String>) -> Option<Figure> {
    Some(Figure {
        name,
        wide: draw(Form::Wide)?,
        narrow: draw(Form::Narrow)?,
    })
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

/// The few figures that a reader takes along.
fn keys(judgement: &Judgement) -> Vec<Key> {
    let key = |figure: String, caption: &str| Key {
        figure,
        caption: caption.to_owned(),
    };
    let mut keys = Vec::new();
    if let Some((first, last)) = ends(judgement) {
        keys.extend(from_to(judgement.outcome, first, last));
        if let (Outcome::ServerCpuPerRequest, Some(rate)) =
            (judgement.outcome, last.implied_rps_per_cpu)
        {
            keys.push(key(
                numbers::rate(rate.value),
                "requests/s that this implies for one server CPU",
            ));
        }
        if let Some(share) = last.share_of_floor {
            keys.push(key(
                numbers::share(share.value),
                "of what this kernel can do: a bare echo over the same sockets",
            ));
        }
    }
    if let Some(effect) = judgement
        .control
        .as_ref()
        .and_then(|control| control.effect)
    {
        let spread = numbers::change_interval(&effect).replace(" … ", "…");
        keys.push(key(
            format!("{spread} %"),
            "is how far two identical servers differ here",
        ));
    }
    keys
}

fn ends(judgement: &Judgement) -> Option<(&ArmResult, &ArmResult)> {
    let whole = judgement.whole.as_ref()?;
    let arm = |name: &str| judgement.arms.iter().find(|arm| arm.name == name);
    Some((arm(&whole.against)?, arm(&whole.arm)?))
}

fn from_to(outcome: Outcome, first: &ArmResult, last: &ArmResult) -> Option<Key> {
    let (figure, caption) = match outcome {
        Outcome::ServerCpuPerRequest => {
            let shown = |arm: &ArmResult| {
                arm.server_cpu_us_per_request
                    .map(|found| numbers::micros(found.value))
            };
            (
                format!("{} → {} µs", shown(first)?, shown(last)?),
                "server CPU per request, first to last",
            )
        }
        Outcome::Throughput => {
            let shown =
                |arm: &ArmResult| arm.throughput_rps.map(|found| numbers::rate(found.value));
            (
                format!("{} → {}", shown(first)?, shown(last)?),
                "requests/s seen, first to last",
            )
        }
    };
    Some(Key {
        figure,
        caption: caption.to_owned(),
    })
}

fn trust(judgement: &Judgement) -> Vec<String> {
    [
        sentences::noise_floor(judgement),
        sentences::smallest_visible(judgement),
        sentences::sequential_error(judgement),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn latency_rows(judgement: &Judgement) -> Vec<LatencyRow> {
    let results = &judgement.latency;
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

fn source(run: &RunRecord) -> Option<SourceView<'_>> {
    run.study.source.as_ref().map(|source| SourceView {
        title: &source.title,
        url: &source.url,
        is_web: source.url.starts_with("https://") || source.url.starts_with("http://"),
        year: source.year,
        machine: &source.machine,
    })
}

fn doubts(run: &RunRecord, judgement: &Judgement) -> Vec<DoubtView> {
    sentences::doubts(run, judgement)
        .into_iter()
        .map(|doubt| DoubtView {
            what: sentences::capitalised(&doubt.what()),
            advice: sentences::capitalised(doubt.advice()),
        })
        .collect()
}

fn workload(run: &RunRecord) -> String {
    let (workload, design) = (&run.study.workload, &run.study.design);
    format!(
        "GET {} over {} keep-alive connections from {} load generator thread{}; {} rounds of {} ms \
         to settle and {} ms scored",
        workload.path,
        workload.connections,
        workload.threads,
        if workload.threads == 1 { "" } else { "s" },
        design.rounds,
        design.settle_ms,
        design.score_ms
    )
}
