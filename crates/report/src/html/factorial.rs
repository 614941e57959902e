//! What the page of a factorial run shows, as plain text; the template only lays it out.

use model::command_run::{CommandBlock, Evidence, EvidencePiece};
use serde::Serialize;

use super::common::{self, Common, Figure, Key, figure};
use crate::chart;
use crate::factorial::{self, CellRows, PublishedRow, View};
use crate::{machine_runs, numbers, sentences};

/// Everything on the page. Only charts and the style are markup.
#[derive(Serialize)]
pub(crate) struct Page<'a> {
    #[serde(flatten)]
    common: Common<'a>,
    lone: Option<String>,
    squares: Option<Figure>,
    squares_caption: String,
    ratios: Option<Figure>,
    ratios_caption: String,
    curves: Option<Figure>,
    arms: Option<Figure>,
    arms_caption: String,
    compared: &'a str,
    metric: &'a str,
    others: Vec<&'a str>,
    columns: usize,
    cells: Vec<CellRows>,
    /// The whole machine's account, by arm; none of older runs.
    machine_headings: Vec<&'static str>,
    machine: Vec<Vec<String>>,
    comparisons: String,
    means: Vec<String>,
    published: Vec<PublishedRow>,
    has_notes: bool,
    evidence: Vec<Piece<'a>>,
    design: String,
}

/// A listing that was kept at the end.
#[derive(Serialize)]
struct Piece<'a> {
    title: &'a str,
    command: &'a str,
    output: &'a str,
    /// How many lines more there are, and how many lines hold what was counted.
    remarks: String,
    /// Shown without being asked for.
    is_open: bool,
}

const SERIES_CAPTION: &str = "One mark for each run of the first cell. What the machine does to every arm rises and falls in \
     all lanes together, and pairs within a round cancel it. Hollow marks are the control, which is \
     the first arm once more.";

/// Gathers the page of a judged run.
pub(crate) fn page<'a>(
    view: View<'a>,
    blocks: &[CommandBlock],
    evidence: &'a Evidence,
    style: &'a str,
) -> Page<'a> {
    let (study, judgement) = (&view.run.study, view.judgement);
    let published = view.published();
    let doubts = [judgement.doubts.as_slice(), &evidence.doubts].concat();
    let others = judgement.metrics.iter().skip(1);
    Page {
        common: Common {
            pitfalls: &study.pitfalls,
            answer: factorial::sentence(view),
            keys: keys(view),
            trust: factorial::trust(view),
            series: figure("series", |form| chart::command_series(view, blocks, form)),
            series_caption: SERIES_CAPTION,
            source: common::source(study.source.as_ref()),
            doubts: common::doubts(&doubts),
            under_test: factorial::programs(view),
            workload: factorial::workload(view),
            // What hosts there are between is the commands' own affair.
            rig: "They ran as an ordinary user, on the machine described below".to_owned(),
            ..Common::of(
                view.run,
                [&study.title, &study.name, &study.question, &study.method],
                style,
            )
        },
        lone: factorial::lone_cells(view),
        squares: figure("squares", |form| chart::squares(view, form)),
        squares_caption: squares_caption(view),
        ratios: figure("ratios", |form| chart::ratios(view, form)),
        ratios_caption: ratios_caption(view),
        curves: figure("curves", |form| chart::curves(view, form)),
        arms: figure("arms", |form| chart::arms(view, form)),
        arms_caption: arms_caption(view),
        compared: view.factor(&judgement.compare),
        metric: &view.metric().title,
        others: others.map(|metric| metric.title.as_str()).collect(),
        columns: 5 + judgement.metrics.len().saturating_sub(1),
        cells: factorial::cells(view),
        machine_headings: machine_runs::headings("Arm"),
        machine: factorial::machine(view),
        comparisons: factorial::comparisons(view),
        means: judgement
            .means
            .iter()
            .map(|mean| factorial::mean(view, mean))
            .collect(),
        has_notes: published.iter().any(|row| !row.note.is_empty()),
        published,
        evidence: evidence.pieces.iter().map(piece).collect(),
        design: factorial::design(view),
    }
}

/// The few figures that a reader takes along: the noise, and the largest change.
fn keys(view: View<'_>) -> Vec<Key> {
    let judgement = view.judgement;
    let mut keys = Vec::new();
    let mut key = |figure: String, caption: String| keys.push(Key { figure, caption });
    let called = judgement.means.iter().filter(|mean| mean.verdict.is_call());
    for mean in called.take(2) {
        if let Some(effect) = &mean.effect {
            let [level, against] = [&mean.level, &mean.against].map(|name| view.compared(name));
            let place = factorial::after_comma(&view.cell(&mean.cell));
            key(
                numbers::ratio(effect.ratio),
                format!("geometric mean of {level} against {against}{place}"),
            );
        }
    }
    let mut interactions = judgement.interactions.iter();
    let called = interactions.find(|found| found.both.verdict.is_call());
    if let Some((found, effect)) = called.and_then(|found| Some((found, found.both.effect?))) {
        let [first, second] = &found.factors;
        let place = factorial::after_comma(&view.cell(&found.cell));
        key(
            numbers::ratio(effect.ratio),
            format!(
                "{} and {} together{place}",
                view.factor(first),
                view.factor(second)
            ),
        );
    }
    let called = judgement
        .contrasts
        .iter()
        .filter(|found| found.verdict.is_call());
    let largest = called.max_by(|a, b| factorial::size(a).total_cmp(&factorial::size(b)));
    if let Some((found, ratio)) = largest.and_then(|found| Some((found, found.change.ratio()?))) {
        let place = factorial::after_comma(&view.cell(&found.cell));
        let level = view.compared(&found.level);
        key(
            numbers::ratio(ratio),
            format!("is the largest change: {level}{place}"),
        );
    }
    let control = judgement.control.as_ref();
    let noise = control.and_then(|control| control.change.effect());
    if let Some(effect) = noise.filter(|effect| sentences::is_bounded(effect)) {
        key(
            format!("{} %", sentences::spread(effect)),
            "is how far the same command differs from itself here".to_owned(),
        );
    }
    keys
}

fn squares_caption(view: View<'_>) -> String {
    let told = view.judgement.interactions.iter();
    let told: Vec<String> = told
        .map(|found| factorial::interaction(view, found))
        .collect();
    format!(
        "{} Parallel lines, on a log scale, would be two settings that do not depend on one another; \
         the diamond is where both would lie then.",
        told.join(" ")
    )
}

fn ratios_caption(view: View<'_>) -> String {
    let judgement = view.judgement;
    let mut parts = vec![
        "Changes come from pairs of runs within a round, so what drifts from round to round does not \
         touch them.",
    ];
    if judgement.control.is_some() {
        parts.push("The grey band is how far the same command differed from itself in this run.");
    }
    if judgement
        .contrasts
        .iter()
        .any(|found| found.verdict.is_void())
    {
        parts.push("Hollow marks have no verdict; the doubts say why.");
    }
    let mut contrasts = judgement.contrasts.iter();
    let mut means = judgement.means.iter();
    if contrasts.any(|found| !view.published_ratios(found).is_empty())
        || means.any(|mean| !view.published_means(mean).is_empty())
    {
        parts.push("Diamonds are the article’s ratios, one for each of its machines.");
    }
    parts.join(" ")
}

fn arms_caption(view: View<'_>) -> String {
    let mut caption = "The bracket is the interval of the median.".to_owned();
    if view
        .judgement
        .arms
        .iter()
        .any(|arm| !view.published_values(arm).is_empty())
    {
        caption +=
            " Diamonds are the article’s figures, on its machines: compare changes, not figures.";
    }
    caption
}

fn piece(piece: &EvidencePiece) -> Piece<'_> {
    let mut remarks: Vec<String> = piece
        .counts
        .iter()
        .map(|(text, count)| format!("{count} lines hold “{text}”"))
        .collect();
    if piece.lines_left_out > 0 {
        remarks.push(format!(
            "{} more lines are left out here",
            piece.lines_left_out
        ));
    }
    if !piece.end.is_success() {
        remarks.push(format!("the command {}", piece.end.words()));
    }
    Piece {
        title: &piece.title,
        command: &piece.command,
        output: &piece.output,
        remarks: remarks.join("; "),
        is_open: factorial::is_short(piece),
    }
}
