//! A metric of factorial runs against the numbers that are a factor's levels, or against two factors.

use model::command_study::LevelValue;
use model::judgement::{ArmFigures, InteractionResult, Levels};

use super::canvas::Ink;
use super::commands::{axis, ends, titled};
use super::xy::{Curve, Curves, Panel, Rise, Ticks};
use crate::factorial::{Cell, PREDICTED, View, figure_on};
use crate::numbers;

/// Fewer numbers than these are no curve.
const FEWEST_POINTS: usize = 3;

/// A metric against the numbers that are the compared factor's levels: one panel for each cell, with
/// what was predicted as a line; none where a level is no number, or they are too few.
pub(crate) fn curves(view: View<'_>) -> Curves {
    let panels: Option<Vec<Panel>> = view.cells().iter().map(|cell| panel(view, cell)).collect();
    let mut panels = panels.unwrap_or_default();
    panels.retain(|panel| panel.lines[0].points.len() >= FEWEST_POINTS);
    let factor = view.factor(&view.judgement.compare);
    Curves {
        title: "The metric against the compared factor",
        description: panels_in_words(view, &panels),
        heading: format!("{} by {}", titled(view), factor.to_lowercase()),
        remark: String::new(),
        columns: panels.len().clamp(1, 2),
        panels,
        height: 160.0,
        x: Ticks::Round(numbers::whole),
        rise: Rise::FromZero,
        tick: axis(view),
    }
}

/// `None` where a level is no number.
fn panel(view: View<'_>, cell: &Cell<'_>) -> Option<Panel> {
    let name = format!("{PREDICTED}{}", view.metric().name);
    let mut arms = Vec::new();
    for arm in &cell.arms {
        let x = number(view, arm.levels.get(&view.judgement.compare)?)?;
        arms.extend(view.figure(arm).map(|figure| (x, arm, figure.estimate)));
    }
    arms.sort_by(|a, b| a.0.total_cmp(&b.0));
    let found = arms.iter().map(|(x, _, found)| (*x, ends(found)));
    let predicted = arms.iter().filter_map(|(x, arm, _)| {
        let figure = figure_on(arm, &name)?;
        Some((*x, figure.estimate.value))
    });
    let here = Curve {
        title: "here".to_owned(),
        ink: Ink::Accent,
        path: arms.iter().map(|(x, _, found)| (*x, found.value)).collect(),
        points: found.collect(),
    };
    let predicted = Curve {
        title: "predicted".to_owned(),
        ink: Ink::Published,
        path: predicted.collect(),
        points: Vec::new(),
    };
    let published = arms.iter().flat_map(|(x, arm, _)| {
        let values = view.published_values(arm).into_iter();
        values.map(|value| (*x, value))
    });
    let has_prediction = !predicted.path.is_empty();
    Some(Panel {
        title: cell.title.clone(),
        diamonds: published.collect(),
        diamond: "published".to_owned(),
        lines: std::iter::once(here)
            .chain(has_prediction.then_some(predicted))
            .collect(),
    })
}

/// A level's value, or its name where it has none, as a number.
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

fn panels_in_words(view: View<'_>, panels: &[Panel]) -> String {
    let unit = &view.metric().unit;
    let panel = |panel: &Panel| {
        let predicted = panel.lines.get(1);
        let point = |(x, [value, ..]): &(f64, [f64; 3])| {
            let predicted = predicted.and_then(|line| line.path.iter().find(|at| at.0 == *x));
            let predicted = predicted.map_or_else(String::new, |at| {
                format!(" (predicted {})", numbers::quantity(at.1, unit))
            });
            let found = numbers::quantity(*value, unit);
            format!("{} {found}{predicted}", numbers::whole(*x))
        };
        let points: Vec<String> = panel.lines[0].points.iter().map(point).collect();
        match panel.title.as_str() {
            "" => points.join(", "),
            title => format!("{title}: {}", points.join(", ")),
        }
    };
    panels.iter().map(panel).collect::<Vec<_>>().join("; ")
}

/// Two factors of two levels: the four arms as two lines, and where the second line would end if each
/// factor did beside the other what it does alone; none where no square is whole.
pub(crate) fn squares(view: View<'_>) -> Curves {
    let all = view.judgement.interactions.iter();
    let squares: Vec<Square> = all.filter_map(|found| square(view, found)).collect();
    let across = squares.first().map(|one| one.across.clone());
    let across = across.unwrap_or_default().into_iter();
    Curves {
        title: "What two factors do alone and together",
        description: squares
            .iter()
            .map(|one| one.in_words.clone())
            .collect::<Vec<_>>()
            .join("; "),
        heading: titled(view),
        remark: "medians with intervals".to_owned(),
        panels: squares.into_iter().map(|one| one.panel).collect(),
        columns: 2,
        height: 150.0,
        x: Ticks::At([0.0, 1.0].into_iter().zip(across).collect(), ""),
        rise: Rise::Either,
        tick: axis(view),
    }
}

/// One square, with the titles of the first factor's levels.
struct Square {
    panel: Panel,
    across: Vec<String>,
    in_words: String,
}

fn square(view: View<'_>, found: &InteractionResult) -> Option<Square> {
    let [first, second] = &found.factors;
    let (first, second) = (
        view.run.study.factor(first)?,
        view.run.study.factor(second)?,
    );
    let estimate = |across: usize, line: usize| {
        let mut levels: Levels = found.cell.clone();
        levels.insert(first.name.clone(), first.levels.get(across)?.name.clone());
        levels.insert(second.name.clone(), second.levels.get(line)?.name.clone());
        let mut arms = view.judgement.arms.iter();
        let arm: &ArmFigures = arms.find(|arm| arm.levels == levels)?;
        Some(view.figure(arm)?.estimate)
    };
    let shown = |value: f64| numbers::quantity(value, &view.metric().unit);
    let named = |level: usize| view.level(&second.name, &second.levels[level].name);
    let across: Vec<String> = first
        .levels
        .iter()
        .map(|level| level.title.clone())
        .collect();
    let mut lines = Vec::new();
    let mut words = Vec::new();
    let mut values = Vec::new();
    for (level, ink) in [(0, Ink::Muted), (1, Ink::Accent)] {
        let found = [estimate(0, level)?, estimate(1, level)?];
        let [off, on] = found.map(|found| found.value);
        lines.push(Curve {
            title: named(level),
            ink,
            path: vec![(0.0, off), (1.0, on)],
            points: vec![(0.0, ends(&found[0])), (1.0, ends(&found[1]))],
        });
        let [off_title, on_title] = [&across[0], &across[1]];
        let [off_shown, on_shown] = [off, on].map(shown);
        words.push(format!(
            "{}: {off_title} {off_shown}, {on_title} {on_shown}",
            named(level)
        ));
        values.push([off, on]);
    }
    // Where both would lie if their ratios multiplied.
    let expected = values[0][1] * values[1][0] / values[0][0];
    Some(Square {
        panel: Panel {
            title: view.cell(&found.cell),
            lines,
            diamonds: vec![(1.0, expected)],
            diamond: format!("{} if independent", shown(expected)),
        },
        across,
        in_words: words.join("; "),
    })
}
