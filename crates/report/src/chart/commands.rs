//! The charts of factorial runs of commands: how each level compares, the figure of every arm, and
//! every run over time.

use model::command_run::CommandBlock;
use model::command_study::Better;
use model::judgement::{ArmFigures, Change, LevelResult, MeanResult};
use model::{Effect, Estimate, Role, Verdict};

use super::lanes::{Lane, Lanes, run_times};
use super::rows::{Dot, Group, Kind, Rows};
use crate::factorial::{Cell, View, size};
use crate::grouped::grouped;
use crate::view::Shown;
use crate::{numbers, sentences};

/// Every arm's figure with its interval, cell by cell, and the article's figures on the same scale.
pub(crate) fn arms(view: View<'_>) -> Rows {
    let better = match view.metric().better {
        Better::Lower => "further left is better",
        Better::Higher => "further right is better",
    };
    let group = |cell: &Cell<'_>| Group {
        title: cell.title.clone(),
        rows: cell.arms.iter().map(|arm| arm_row(view, arm)).collect(),
    };
    Rows {
        title: "The figure of every arm",
        heading: titled(view),
        remark: format!("{better}; medians"),
        groups: view.cells().iter().map(group).collect(),
        kind: Kind::Amounts,
        columns: ["here", "published"],
        tick: axis(view),
    }
}

fn arm_row<'a>(view: View<'a>, arm: &'a ArmFigures) -> Dot {
    let figure = view.figure(arm);
    let published = view.published_values(arm);
    let unit = &view.metric().unit;
    Dot {
        title: view.own_level(arm).to_owned(),
        at: figure.map(|figure| ends(&figure.estimate)),
        is_void: false,
        cells: [
            figure.map_or_else(missing, |figure| {
                Shown::figure(Some(figure), view.metric()).value
            }),
            span(
                &published,
                |value| numbers::quantity(value, unit),
                |low, high| numbers::quantity_span(low, high, unit),
            ),
        ],
        published,
    }
}

/// One figure, or the least and the largest of several; empty without any.
fn span(values: &[f64], one: impl Fn(f64) -> String, both: impl Fn(f64, f64) -> String) -> String {
    let low = values.iter().copied().reduce(f64::min);
    let high = values.iter().copied().reduce(f64::max);
    match low.zip(high) {
        None => String::new(),
        Some((low, high)) if low == high => one(low),
        Some((low, high)) => both(low, high),
    }
}

/// The metric as a chart's heading, with its unit where the axis does not tell it.
pub(super) fn titled(view: View<'_>) -> String {
    let metric = view.metric();
    let title = sentences::capitalised(&metric.title);
    if numbers::is_scaled(&metric.unit) {
        return title;
    }
    format!("{title}, {}", metric.unit)
}

pub(super) fn axis(view: View<'_>) -> Box<dyn Fn(f64) -> String> {
    let unit = view.metric().unit.clone();
    Box::new(move |value| numbers::axis(value, &unit))
}

pub(super) fn ends(found: &Estimate) -> [f64; 3] {
    [found.value, found.low, found.high]
}

fn missing() -> String {
    numbers::MISSING.to_owned()
}

/// How many times each level is of its reference, with intervals, and the article's ratios on the
/// same scale: they can be compared between machines, figures cannot.
pub(crate) fn ratios(view: View<'_>) -> Rows {
    let better = match view.metric().better {
        Better::Lower => "left of the line is better",
        Better::Higher => "right of the line is better",
    };
    let mut groups: Vec<Group> = means(view).into_iter().collect();
    groups.extend(contrasts(view));
    let control = view.judgement.control.as_ref();
    let noise = control.and_then(|control| control.change.effect());
    let noise = noise.filter(|effect| sentences::is_bounded(effect));
    Rows {
        title: "How each level compares",
        heading: format!("Change of {}", view.metric().title),
        remark: format!("{better}; from pairs within rounds"),
        groups,
        kind: Kind::Ratios {
            noise: noise.map(|effect| (effect.low, effect.high)),
        },
        columns: ["here", "published"],
        tick: Box::new(super::ratio_tick),
    }
}

fn means(view: View<'_>) -> Option<Group> {
    let first = view.judgement.means.first()?;
    let row = |mean: &MeanResult| {
        let cell = view.cell(&mean.cell);
        let level = view.compared(&mean.level);
        let published = view.published_means(mean);
        Dot {
            title: if cell.is_empty() {
                level
            } else {
                format!("{level}, {cell}")
            },
            at: mean.effect.as_ref().map(place),
            is_void: mean.verdict == Verdict::Invalid,
            cells: [
                mean.effect
                    .as_ref()
                    .map_or_else(missing, |effect| numbers::ratio(effect.ratio)),
                span(&published, numbers::ratio, numbers::ratio_span),
            ],
            published,
        }
    };
    Some(Group {
        title: format!(
            "geometric mean, {}",
            view.factor(&first.over).to_lowercase()
        ),
        rows: view.judgement.means.iter().map(row).collect(),
    })
}

/// One group for each pair of levels; with a mean above them, the worst first.
fn contrasts(view: View<'_>) -> Vec<Group> {
    let title = |found: &&LevelResult| {
        if found.cell.is_empty() {
            return String::new();
        }
        let [level, against] = [&found.level, &found.against].map(|name| view.compared(name));
        format!("{level} against {against}")
    };
    let groups = grouped(&view.judgement.contrasts, title);
    let has_means = !view.judgement.means.is_empty();
    let group = |(title, mut rows): (String, Vec<&LevelResult>)| {
        if has_means {
            rows.sort_by(|a, b| badness(view, b).total_cmp(&badness(view, a)));
        }
        Group {
            title,
            rows: rows
                .into_iter()
                .map(|found| contrast_row(view, found))
                .collect(),
        }
    };
    groups.into_iter().map(group).collect()
}

/// The worse, the larger.
fn badness(view: View<'_>, found: &LevelResult) -> f64 {
    let is_more = found.change.ratio().is_some_and(|ratio| ratio > 1.0);
    let is_worse = is_more == (view.metric().better == Better::Lower);
    if is_worse { size(found) } else { -size(found) }
}

fn contrast_row<'a>(view: View<'a>, found: &'a LevelResult) -> Dot {
    let published = view.published_ratios(found);
    let cell = view.cell(&found.cell);
    let shown = found.change.ratio().map_or_else(missing, numbers::ratio);
    Dot {
        title: if cell.is_empty() {
            view.compared(&found.level)
        } else {
            cell
        },
        at: match &found.change {
            Change::Estimated(effect) => Some(place(effect)),
            Change::Exact(_) | Change::Unknown => found.change.ratio().map(|ratio| [ratio; 3]),
        },
        is_void: found.verdict == Verdict::Invalid,
        cells: [shown, span(&published, numbers::ratio, numbers::ratio_span)],
        published,
    }
}

fn place(effect: &Effect) -> [f64; 3] {
    [effect.ratio, effect.low, effect.high]
}

/// The runs of commands over time: the cell of the baseline, where the control is.
pub(crate) fn series(view: View<'_>, blocks: &[CommandBlock]) -> Lanes {
    let (times, resumed) = run_times(blocks);
    let cell = view.cells().into_iter().next();
    let (title, arms) = cell.map_or_else(Default::default, |cell| (cell.title, cell.arms));
    let metric = view.metric();
    let lane = |arm: &ArmFigures| {
        let median = view.figure(arm)?.estimate.value;
        let level = view.own_level(arm);
        let title = match arm.role {
            Role::Control => format!("control: {level}"),
            _ => level.to_owned(),
        };
        let shown = numbers::quantity(median, &metric.unit);
        Some(Lane::of(
            (title, arm.role),
            (median, shown),
            blocks,
            &times,
            |block| {
                // As the run printed it; only the study's own metrics are kept by name.
                let is_of_it = block.arm == arm.name && block.reading.command.end.is_success();
                let value = block.reading.values.get(&metric.name).copied();
                value.filter(|_| is_of_it)
            },
        ))
    };
    let arms = arms.into_iter().chain(view.control());
    Lanes {
        heading: format!("{}, run by run", sentences::capitalised(&metric.title)),
        cell: title,
        lanes: arms.filter_map(lane).collect(),
        resumed,
    }
}
