//! Every arm's figure with its interval, cell by cell, and the article's figures on the same scale.

use model::command_study::Better;
use model::judgement::ArmFigures;

use super::Form;
use super::dots::{Dot, Dots, Group, Kind};
use crate::factorial::{Cell, Shown, View};
use crate::numbers;

/// Draws the arms; `None` where none has a figure.
pub(crate) fn arms(view: View<'_>, form: Form) -> Option<String> {
    let metric = view.metric();
    let unit = metric.unit.clone();
    let better = match metric.better {
        Better::Lower => "further left is better",
        Better::Higher => "further right is better",
    };
    let dots = Dots {
        heading: super::titled(metric),
        remark: format!("{better}; medians"),
        groups: view.cells().iter().map(|cell| group(view, cell)).collect(),
        kind: Kind::Amounts,
        columns: ["here", "published"],
        tick: Box::new(move |value| numbers::axis(value, &unit)),
    };
    dots.draw("arms", "The figure of every arm", form)
}

fn group(view: View<'_>, cell: &Cell<'_>) -> Group {
    Group {
        title: cell.title.clone(),
        rows: cell.arms.iter().map(|arm| dot(view, arm)).collect(),
    }
}

fn dot<'a>(view: View<'a>, arm: &'a ArmFigures) -> Dot {
    let figure = view.figure(arm);
    let published = view.published_values(arm);
    let unit = &view.metric().unit;
    let missing = || numbers::MISSING.to_owned();
    Dot {
        title: view.own_level(arm).to_owned(),
        at: figure.map(|figure| {
            let found = figure.estimate;
            [found.value, found.low, found.high]
        }),
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
pub(super) fn span(
    values: &[f64],
    one: impl Fn(f64) -> String,
    both: impl Fn(f64, f64) -> String,
) -> String {
    let low = values.iter().copied().reduce(f64::min);
    let high = values.iter().copied().reduce(f64::max);
    match low.zip(high) {
        None => String::new(),
        Some((low, high)) if low == high => one(low),
        Some((low, high)) => both(low, high),
    }
}
