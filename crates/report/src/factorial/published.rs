//! The article's figures beside those measured here.

use model::command_study::PublishedFigure;
use model::judgement::{ArmFigures, Change, LevelResult, Levels, MeanResult, MetricInfo};
use model::{Effect, Role, Verdict};

use super::view::{View, figure_on};
use super::words;
use crate::numbers;
use crate::view::Shown;

/// Fewest runs that give an interval at 5 %. The least and the greatest value of six runs enclose
/// the median with probability 1 − 2·(1/2)⁶ = 97 %; those of five runs only with 94 %.
const FEWEST_RUNS: u32 = 6;

/// What this run measured for a figure of the article.
#[derive(Clone, Default)]
struct OwnFigure {
    shown: Shown,
    /// Lower and upper end of its interval; `None` where none is known.
    bounds: Option<[f64; 2]>,
}

impl OwnFigure {
    /// Judges the article's claim that the value lies between `low` and `high`.
    fn verdict(&self, [low, high]: [f64; 2]) -> &'static str {
        match self.bounds {
            None if self.shown.is_empty() => "not measured",
            Some([least, most]) if low <= least && most <= high => "confirmed",
            Some([least, most]) if most < low || high < least => "contradicted",
            _ => "cannot tell",
        }
    }
}

/// A ratio that this run measured, of some level to the level `against`.
struct Compared<'a> {
    against: &'a str,
    cell: &'a Levels,
    /// Levels that the ratio is a mean over; empty for the ratio in one cell.
    over: &'a [String],
    ratio: Option<f64>,
    here: OwnFigure,
}

impl<'a> Compared<'a> {
    fn on_the_whole(mean: &'a MeanResult, effect: &Effect) -> Self {
        Self {
            against: &mean.against,
            cell: &mean.cell,
            over: &mean.of,
            ratio: Some(effect.ratio),
            here: OwnFigure {
                shown: Shown::effect(effect),
                bounds: (mean.verdict != Verdict::Invalid).then_some([effect.low, effect.high]),
            },
        }
    }

    fn in_a_cell(found: &'a LevelResult) -> Self {
        Self {
            against: &found.against,
            cell: &found.cell,
            over: &[],
            ratio: found.change.ratio(),
            here: OwnFigure {
                shown: Shown::changed(&found.change),
                bounds: match &found.change {
                    _ if found.verdict == Verdict::Invalid => None,
                    Change::Estimated(effect) => Some([effect.low, effect.high]),
                    exact => exact.ratio().map(|ratio| [ratio, ratio]),
                },
            },
        }
    }

    /// Whether both ratios are to the same level, in the same cell and over the same levels.
    fn is_beside(&self, other: &Self) -> bool {
        (self.against, self.cell, self.over) == (other.against, other.cell, other.over)
    }
}

/// Returns the only item; `None` if there is none, or more than one.
fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    all.next().filter(|_| all.next().is_none())
}

impl<'a> View<'a> {
    /// Returns the article's figures for an arm on the metric that verdicts are about.
    fn published_of(&self, arm: &ArmFigures) -> impl Iterator<Item = &'a PublishedFigure> {
        let (arm, metric) = (arm.clone(), self.metric().name.as_str());
        let all = self.run.study.published.iter();
        let figures = all.filter(|figure| figure.against.is_none());
        figures.filter(move |figure| figure.metric == metric && is_about(figure, &arm))
    }

    pub(crate) fn published_values(&self, arm: &ArmFigures) -> Vec<f64> {
        self.published_of(arm).map(|figure| figure.value).collect()
    }

    /// Returns the article's ratios for a contrast: those that it states, and those of its figures
    /// on each machine that has both. Machines differ less in ratios than in figures.
    pub(crate) fn published_ratios(&self, found: &LevelResult) -> Vec<f64> {
        let stated = self.stated_ratios(&found.level, &found.against, &found.cell);
        [stated, self.ratios_of_figures(found)].concat()
    }

    /// Returns the ratios that the article states for a geometric mean.
    pub(crate) fn published_means(&self, mean: &MeanResult) -> Vec<f64> {
        self.stated_ratios(&mean.level, &mean.against, &mean.cell)
    }

    fn stated_ratios(&self, level: &str, against: &str, cell: &Levels) -> Vec<f64> {
        let all = self.run.study.published.iter();
        let about = all.filter(|figure| self.is_ratio_of(figure, [level, against], cell));
        about.map(|figure| figure.value).collect()
    }

    /// Whether a figure is a ratio of one level to another in a cell.
    fn is_ratio_of(&self, figure: &PublishedFigure, pair: [&str; 2], cell: &Levels) -> bool {
        self.pair_of(figure) == Some(pair) && self.is_in_cell(figure, cell)
    }

    /// Returns the two levels of the compared factor whose ratio a figure is, if the figure is on
    /// the metric of the verdicts.
    fn pair_of<'f>(&self, figure: &'f PublishedFigure) -> Option<[&'f str; 2]> {
        let compare = &self.judgement.compare;
        let against = figure.against.as_ref().filter(|levels| levels.len() == 1)?;
        let level = figure.levels.get(compare)?;
        (figure.metric == self.metric().name).then_some([level, against.get(compare)?])
    }

    /// Whether a figure is about a cell. A figure that names no level of the factor that means are
    /// taken over is about the mean, whose cell has no such level either.
    fn is_in_cell(&self, figure: &PublishedFigure, cell: &Levels) -> bool {
        let mut others = figure.levels.clone();
        others.remove(&self.judgement.compare);
        let over = self.run.study.design.mean_over.as_ref();
        has_all(cell, &others)
            && over.is_none_or(|over| cell.contains_key(over) == others.contains_key(over))
    }

    /// Returns what this run measured for a ratio of the article; `None` if nothing, or several
    /// ratios. Two levels that were both compared with a third give the quotient of those two
    /// ratios.
    fn measured_ratio(&self, figure: &PublishedFigure) -> Option<OwnFigure> {
        let [level, against] = self.pair_of(figure)?;
        let own = self.comparisons_of(figure, level);
        let itself = own.iter().filter(|one| one.against == against);
        if let Some(found) = only(itself.map(|one| one.here.clone())) {
            return Some(found);
        }
        let other = self.comparisons_of(figure, against);
        let ratios = own.iter().flat_map(|one| {
            let alike = other.iter().filter(|other| one.is_beside(other));
            alike.filter_map(|other| Some(one.ratio? / other.ratio?))
        });
        only(ratios).map(|ratio| OwnFigure {
            shown: Shown::ratio(ratio),
            bounds: None,
        })
    }

    /// Returns all comparisons of a level that a figure may be about, on the whole and in cells.
    fn comparisons_of(&self, figure: &PublishedFigure, level: &str) -> Vec<Compared<'a>> {
        let means = self.judgement.means.iter();
        let means = means.filter(|mean| mean.level == level && self.is_in_cell(figure, &mean.cell));
        let means = means.filter_map(|mean| Some(Compared::on_the_whole(mean, &mean.effect?)));
        let contrasts = self.judgement.contrasts.iter();
        let contrasts = contrasts
            .filter(|found| found.level == level && self.is_in_cell(figure, &found.cell))
            .map(Compared::in_a_cell);
        means.chain(contrasts).collect()
    }

    fn ratios_of_figures(&self, found: &LevelResult) -> Vec<f64> {
        let mut reference = found.cell.clone();
        reference.insert(self.judgement.compare.clone(), found.against.clone());
        let mut arms = self.judgement.arms.iter();
        let reference = arms.find(|arm| arm.levels == reference);
        let Some((arm, reference)) = self.arm(&found.arm).zip(reference) else {
            return Vec::new();
        };
        let ratio = |figure: &PublishedFigure| {
            let mut beside = self.published_of(reference);
            let beside = beside.find(|other| other.machine == figure.machine)?;
            Some(figure.value / beside.value)
        };
        self.published_of(arm).filter_map(ratio).collect()
    }

    /// Returns a table row for every published figure, in the study's order.
    pub(crate) fn published(&self) -> Vec<Vec<String>> {
        let all = self.run.study.published.iter();
        all.map(|figure| self.row(figure)).collect()
    }

    fn row(&self, figure: &'a PublishedFigure) -> Vec<String> {
        let mut metrics = self.judgement.metrics.iter();
        let metric = metrics.find(|metric| metric.name == figure.metric);
        let unit = metric.map_or("", |metric| metric.unit.as_str());
        let (levels, published, here) = match &figure.against {
            None => {
                let here = metric.and_then(|metric| self.measured_figure(figure, metric));
                (
                    self.cell(&figure.levels),
                    numbers::quantity(figure.value, unit),
                    here,
                )
            }
            Some(against) => {
                let here = self.measured_ratio(figure);
                (
                    self.pair(figure, against),
                    numbers::ratio(figure.value),
                    here,
                )
            }
        };
        let metric = metric.map_or(&figure.metric, |metric| &metric.title);
        let machine = match figure.note.as_str() {
            "" => figure.machine.clone(),
            note => format!("{}; {note}", figure.machine),
        };
        let here = here.unwrap_or_default();
        let claim = match (figure.at_least, figure.at_most) {
            (None, None) => numbers::MISSING,
            (low, high) => here.verdict([
                low.unwrap_or(f64::NEG_INFINITY),
                high.unwrap_or(f64::INFINITY),
            ]),
        };
        let claim = claim.to_owned();
        vec![
            levels,
            metric.clone(),
            published,
            here.shown.value,
            claim,
            machine,
        ]
    }

    /// Whether an arm's figures may confirm or contradict a claim. They may not where every
    /// comparison of the arm is invalid.
    fn is_sound(&self, arm: &ArmFigures) -> bool {
        let mut cell = arm.levels.clone();
        let level = cell.remove(&self.judgement.compare);
        let contrasts = self.judgement.contrasts.iter();
        let mut about = contrasts
            .filter(|found| found.cell == cell)
            .filter(|found| {
                [&found.level, &found.against]
                    .map(Some)
                    .contains(&level.as_ref())
            })
            .peekable();
        about.peek().is_none() || about.any(|found| found.verdict != Verdict::Invalid)
    }

    /// `CPython 3.11 against CPython 3.10, coroutines`.
    fn pair(&self, figure: &PublishedFigure, against: &Levels) -> String {
        let mut own = figure.levels.clone();
        own.retain(|factor, _| against.contains_key(factor));
        let mut cell = figure.levels.clone();
        cell.retain(|factor, _| !against.contains_key(factor));
        let [own, against, cell] = [&own, against, &cell].map(|levels| self.cell(levels));
        let place = words::after_comma(&cell);
        format!("{own} against {against}{place}")
    }

    /// Returns what this run measured for a figure of the article; `None` if no arm matches it, or
    /// several.
    fn measured_figure(&self, figure: &PublishedFigure, metric: &MetricInfo) -> Option<OwnFigure> {
        let arms = self.judgement.arms.iter();
        let mut about = arms.filter(|arm| arm.role != Role::Control && is_about(figure, arm));
        let arm = about.next().filter(|_| about.next().is_none())?;
        let found = figure_on(arm, &figure.metric);
        Some(OwnFigure {
            shown: Shown::figure(found, metric),
            bounds: found
                .map(|found| found.estimate)
                .filter(|found| found.n >= FEWEST_RUNS && self.is_sound(arm))
                .map(|found| [found.low, found.high]),
        })
    }
}

/// Whether a figure is about an arm: the arm has all levels that the figure names.
fn is_about(figure: &PublishedFigure, arm: &ArmFigures) -> bool {
    has_all(&arm.levels, &figure.levels)
}

fn has_all(levels: &Levels, of: &Levels) -> bool {
    of.iter()
        .all(|(factor, level)| levels.get(factor) == Some(level))
}
