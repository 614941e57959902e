//! The page for a terminal: the answer, the table, the noise floor, the doubts.

use model::bench::{BenchArm, BenchArmResult, BenchComparison, BenchReport, Distribution};
use model::judgement::Judged;
use model::study::Role;

use super::whole_ns;
use crate::view::{Column, Item, Page, Row, Shown, Table};
use crate::{machine_runs, numbers, text};

/// Renders a comparison for a terminal of `width` columns, with or without colour.
pub fn render(report: &BenchReport, width: usize, colour: bool) -> String {
    let text = text::laid_out(view(report), width, colour);
    text.trim_end().to_owned()
}

pub(crate) fn view(report: &BenchReport) -> Page {
    let mut page = Page {
        answer: report.answer.clone(),
        doubts: report.judgement.doubts.clone(),
        ..Page::default()
    };
    page.section("commands", "Command by command");
    page.add(Item::Table(table(report)));
    page.table(machine(report));
    for text in [noise_floor(report), how(report)].into_iter().flatten() {
        page.paragraph(text);
    }
    page
}

fn table(report: &BenchReport) -> Table {
    let headings = [
        "command",
        "wall time",
        "p10 … p90",
        "CPU time",
        "peak memory",
        "change of wall time",
        "verdict",
        "change of CPU time",
        "verdict",
        "change of memory",
        "verdict",
        "n",
    ];
    let arms = report.record.arms.iter().zip(&report.judgement.arms);
    let rows = arms.map(|(arm, figures)| row(report, arm, figures));
    let columns = headings.into_iter().map(Column::figures);
    Table::new(
        "Figures of every command",
        columns.collect(),
        rows.collect(),
    )
}

fn row(report: &BenchReport, arm: &BenchArm, figures: &BenchArmResult) -> Row {
    let compared = comparison(report, arm);
    let change = |pick: fn(&BenchComparison) -> Judged| {
        let found = compared.map(pick);
        let effect = found.and_then(|found| found.effect);
        let change = effect.map_or_else(String::new, |effect| numbers::effect(&effect));
        [
            Shown::text(change),
            Shown::verdict(found.map(|found| found.verdict)),
        ]
    };
    let shown = |found: Option<Distribution>, show: fn(&Distribution) -> String| {
        Shown::text(found.map_or_else(|| numbers::MISSING.to_owned(), |found| show(&found)))
    };
    let n = figures.wall_ns.map_or(0, |found| found.median.n);
    let mut cells = vec![
        Shown::text(&arm.title),
        shown(figures.wall_ns, median),
        if report.judgement.comparisons.is_empty() {
            shown(figures.wall_ns, range)
        } else {
            // Where commands are compared, the changes say more.
            Shown::default()
        },
        shown(figures.cpu_ns, |found| {
            numbers::duration(whole_ns(found.median.value))
        }),
        shown(figures.peak_memory_bytes, |found| {
            megabytes(found.median.value)
        }),
    ];
    cells.extend(change(|one| one.wall));
    cells.extend(change(|one| one.cpu));
    cells.extend(change(|one| one.peak_memory));
    cells.push(Shown::text(n.to_string()));
    Row::of(cells)
}

/// The CPU time of the whole machine beside that of each command.
fn machine(report: &BenchReport) -> Table {
    let arms = report.record.arms.iter().zip(&report.judgement.arms);
    let rows = arms.map(|(arm, figures)| {
        let process = figures.cpu_ns.map(|found| found.median.value);
        (arm.title.as_str(), process, figures.machine.as_ref())
    });
    machine_runs::table("command", rows)
}

fn comparison<'a>(report: &'a BenchReport, arm: &BenchArm) -> Option<&'a BenchComparison> {
    let judged = &report.judgement;
    let mut all = judged.comparisons.iter().chain(&judged.control);
    all.find(|comparison| comparison.arm == arm.name)
}

fn median(found: &Distribution) -> String {
    let [value, low, high] =
        [found.median.value, found.median.low, found.median.high].map(whole_ns);
    numbers::duration_with_interval(value, low, high)
}

fn range(found: &Distribution) -> String {
    let [p10, p90] = [found.p10, found.p90].map(|ns| numbers::duration(whole_ns(ns)));
    format!("{p10} … {p90}")
}

/// Writes one digit after the point below 100 MB: commands differ by tenths of a megabyte.
fn megabytes(bytes: f64) -> String {
    match bytes / 1e6 {
        small if small < 99.95 => format!("{small:.1} MB"),
        large => format!("{} MB", numbers::whole(large)),
    }
}

fn noise_floor(report: &BenchReport) -> Option<String> {
    let judged = &report.judgement;
    let Some(effect) = judged
        .control
        .as_ref()
        .and_then(|control| control.wall.effect)
    else {
        let noise = judged.arms.first()?.wall_ns?.noise_share?;
        return Some(format!(
            "Noise: two runs in three lie within {} of the median.",
            numbers::share(noise)
        ));
    };
    let visible = judged.smallest_visible.map_or_else(String::new, |visible| {
        format!(
            "; these pairs can detect changes of about {} or more",
            numbers::share(visible)
        )
    });
    Some(format!(
        "Noise floor: the first command against itself differs by {}{visible}.",
        numbers::effect(&effect)
    ))
}

/// Says what the figures are, and how to get the same order again.
fn how(report: &BenchReport) -> Option<String> {
    let record = &report.record;
    let in_shell = record.arms.iter().any(|arm| arm.role == Role::Floor);
    let shell = if in_shell {
        " The shell's start is in every figure; nothing is subtracted."
    } else {
        ""
    };
    (!record.runs.is_empty()).then(|| {
        format!(
            "{} rounds in random order (--seed {}); medians with 95 % intervals, changes by pairs \
             within rounds, 5 % error for all verdicts together.{shell}",
            report.judgement.rounds_done, record.seed
        )
    })
}
