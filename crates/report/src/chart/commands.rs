//! The charts of factorial runs of commands: how each level compares, the metric against levels that are
//! numbers, and every run over time.

use model::command_run::CommandBlock;
use model::command_study::{Better, LevelValue};
use model::judgement::{ArmFigures, Change, LevelResult, MeanResult};
use model::{Effect, Role, Verdict};

use super::canvas::Ink;
use super::contrasts::{Contrast, Contrasts, Group};
use super::series::{Strip, series as strips};
use super::xy::{Curve, Curves, Panel, Rise};
use crate::factorial::{Cell, PREDICTED, View, figure_on, size};
use crate::grouped::grouped;
use crate::{numbers, sentences};

/// The fewest levels that make a curve.
const FEWEST_POINTS: usize = 3;

/// Charts the ratio of each level to its reference, with intervals, and the article's ratios on the
/// same scale: ratios can be compared between machines, figures cannot.
pub(crate) fn ratios(view: View<'_>) -> Contrasts {
    let better = match view.metric().better {
        Better::Lower => "left of the line is better",
        Better::Higher => "right of the line is better",
    };
    let mut groups: Vec<Group> = means(view).into_iter().collect();
    groups.extend(contrasts(view));
    let control = view.judgement.control.as_ref();
    let noise = control.and_then(|control| control.change.effect());
    let noise = noise.filter(|effect| sentences::is_bounded(effect));
    Contrasts {
        heading: format!("Change of {}", view.metric().title),
        remark: format!("{better}; from pairs within rounds"),
        groups,
        noise: noise.map(|effect| [effect.low, effect.high]),
    }
}

fn means(view: View<'_>) -> Option<Group> {
    let first = view.judgement.means.first()?;
    let row = |mean: &MeanResult| {
        let cell = view.cell(&mean.cell);
        let level = view.compared(&mean.level);
        Contrast {
            title: if cell.is_empty() {
                level
            } else {
                format!("{level}, {cell}")
            },
            ratio: mean.effect.as_ref().map(place),
            is_void: mean.verdict == Verdict::Invalid,
            published: view.published_means(mean),
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

/// Makes one group of rows for each pair of levels. Where a group of means stands above them, the
/// worst row comes first.
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
        let rows = rows.into_iter().map(|found| contrast(view, found));
        Group {
            title,
            rows: rows.collect(),
        }
    };
    groups.into_iter().map(group).collect()
}

/// Size of a change as a sort key: positive where it is worse, negative where it is better.
fn badness(view: View<'_>, found: &LevelResult) -> f64 {
    let is_more = found.change.ratio().is_some_and(|ratio| ratio > 1.0);
    let is_worse = is_more == (view.metric().better == Better::Lower);
    if is_worse { size(found) } else { -size(found) }
}

fn contrast(view: View<'_>, found: &LevelResult) -> Contrast {
    let cell = view.cell(&found.cell);
    Contrast {
        title: if cell.is_empty() {
            view.compared(&found.level)
        } else {
            cell
        },
        ratio: match &found.change {
            Change::Estimated(effect) => Some(place(effect)),
            Change::Exact(_) | Change::Unknown => found.change.ratio().map(|ratio| [ratio; 3]),
        },
        is_void: found.verdict == Verdict::Invalid,
        published: view.published_ratios(found),
    }
}

fn place(effect: &Effect) -> [f64; 3] {
    [effect.ratio, effect.low, effect.high]
}

/// Charts the metric against the compared factor's levels, where these are numbers: one panel for
/// each cell, with the prediction as a line. No panel where a level is no number, or there are too
/// few.
pub(crate) fn curves(view: View<'_>) -> Curves {
    let panels: Option<Vec<Panel>> = view.cells().iter().map(|cell| panel(view, cell)).collect();
    let mut panels = panels.unwrap_or_default();
    panels.retain(|panel| panel.lines[0].points.len() >= FEWEST_POINTS);
    let metric = view.metric();
    let factor = view.factor(&view.judgement.compare).to_lowercase();
    let title = sentences::capitalised(&metric.title);
    Curves {
        heading: match numbers::is_scaled(&metric.unit) {
            true => format!("{title} by {factor}"),
            false => format!("{title}, {}, by {factor}", metric.unit),
        },
        remark: String::new(),
        columns: panels.len().clamp(1, 2),
        panels,
        height: 160.0,
        below: "",
        places: Vec::new(),
        rise: Rise::FromZero,
        unit: metric.unit.clone(),
        resumed: Vec::new(),
    }
}

/// `None` where a level is no number.
fn panel(view: View<'_>, cell: &Cell<'_>) -> Option<Panel> {
    let predicted = format!("{PREDICTED}{}", view.metric().name);
    let mut arms = Vec::new();
    for arm in &cell.arms {
        arms.push((
            number(view, arm.levels.get(&view.judgement.compare)?)?,
            *arm,
        ));
    }
    arms.sort_by(|a, b| a.0.total_cmp(&b.0));
    let of = |metric: &str| {
        let found = arms.iter().filter_map(|(x, arm)| {
            let found = figure_on(arm, metric)?.estimate;
            Some((*x, [found.value, found.low, found.high]))
        });
        found.collect::<Vec<(f64, [f64; 3])>>()
    };
    let path = |points: &[(f64, [f64; 3])]| points.iter().map(|(x, [y, ..])| (*x, *y)).collect();
    let (here, there) = (of(&view.metric().name), of(&predicted));
    let published = arms.iter().flat_map(|(x, arm)| {
        let values = view.published_values(arm).into_iter();
        values.map(|value| (*x, value))
    });
    let predicted = (!there.is_empty()).then(|| Curve {
        title: "predicted".to_owned(),
        ink: Ink::Published,
        path: path(&there),
        points: Vec::new(),
    });
    let here = Curve {
        title: "here".to_owned(),
        ink: Ink::Accent,
        path: path(&here),
        points: here,
    };
    Some(Panel {
        title: cell.title.clone(),
        published: published.collect(),
        lines: std::iter::once(here).chain(predicted).collect(),
    })
}

/// Returns a level's value as a number, or its name where it has no value.
fn number(view: View<'_>, name: &str) -> Option<f64> {
    let factor = view.run.study.factor(&view.judgement.compare)?;
    let level = factor.level(name)?;
    let text = match &level.value {
        Some(LevelValue::Text(text)) => text.as_str(),
        Some(LevelValue::Words(_)) => return None,
        None => level.name.as_str(),
    };
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Charts the runs of commands over time, in the cell of the baseline, which also has the control.
pub(crate) fn series(view: View<'_>, blocks: &[CommandBlock]) -> Curves {
    let cell = view.cells().into_iter().next();
    let (title, arms) = cell.map_or_else(Default::default, |cell| (cell.title, cell.arms));
    let metric = view.metric();
    let strip = |arm: &ArmFigures| {
        let median = view.figure(arm)?.estimate.value;
        let level = view.own_level(arm);
        let name = arm.name.clone();
        Some(Strip {
            title: match arm.role {
                Role::Control => format!("control: {level}"),
                _ => level.to_owned(),
            },
            role: arm.role,
            median: (median, numbers::quantity(median, &metric.unit)),
            figure: Box::new(move |block: &model::CommandBlock| {
                // The value is the one that the run printed; only the study's own metrics are
                // stored by name.
                let is_of_it = block.arm == name && block.reading.command.end.is_success();
                let value = block.reading.values.get(&metric.name).copied();
                value.filter(|_| is_of_it)
            }),
        })
    };
    let arms = arms.into_iter().chain(view.control());
    let heading = format!("{}, run by run", sentences::capitalised(&metric.title));
    strips(heading, &title, blocks, arms.filter_map(strip))
}
