//! How many times each level is of its reference, with intervals, and the article's ratios on the
//! same scale: they can be compared between machines, figures cannot.

use model::command_study::Better;
use model::judgement::{Change, LevelResult, MeanResult};
use model::{Effect, Verdict};

use super::Form;
use super::arms::span;
use super::dots::{Dot, Dots, Group, Kind};
use crate::factorial::{View, size};
use crate::{numbers, sentences};

/// Draws the ratios; `None` where there are none.
pub(crate) fn ratios(view: View<'_>, form: Form) -> Option<String> {
    let better = match view.metric().better {
        Better::Lower => "left of the line is better",
        Better::Higher => "right of the line is better",
    };
    let mut groups: Vec<Group> = means(view).into_iter().collect();
    groups.extend(contrasts(view));
    let control = view.judgement.control.as_ref();
    let noise = control.and_then(|control| control.change.effect());
    let noise = noise.filter(|effect| sentences::is_bounded(effect));
    let dots = Dots {
        heading: format!("Change of {}", view.metric().title),
        remark: format!("{better}; from pairs within rounds"),
        groups,
        kind: Kind::Ratios {
            noise: noise.map(|effect| (effect.low, effect.high)),
        },
        columns: ["here", "published"],
        tick: Box::new(|ratio| {
            if ratio == 1.0 {
                return "none".to_owned();
            }
            numbers::ratio_roughly(ratio)
        }),
    };
    dots.draw("ratios", "How each level compares", form)
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
    let mut groups: Vec<(String, Vec<&LevelResult>)> = Vec::new();
    for found in &view.judgement.contrasts {
        let title = if found.cell.is_empty() {
            String::new()
        } else {
            let [level, against] = [&found.level, &found.against].map(|name| view.compared(name));
            format!("{level} against {against}")
        };
        match groups.iter_mut().find(|(other, _)| *other == title) {
            Some((_, rows)) => rows.push(found),
            None => groups.push((title, vec![found])),
        }
    }
    let has_means = !view.judgement.means.is_empty();
    let group = |(title, mut rows): (String, Vec<&LevelResult>)| {
        if has_means {
            rows.sort_by(|a, b| badness(view, b).total_cmp(&badness(view, a)));
        }
        Group {
            title,
            rows: rows.into_iter().map(|found| row(view, found)).collect(),
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

fn row<'a>(view: View<'a>, found: &'a LevelResult) -> Dot {
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

fn missing() -> String {
    numbers::MISSING.to_owned()
}
