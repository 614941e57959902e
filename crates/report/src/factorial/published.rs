//! The article's figures beside those measured here.

use model::Role;
use model::command_study::PublishedFigure;
use model::judgement::{ArmFigures, LevelResult, Levels, MeanResult, MetricInfo};

use super::view::{View, figure_on};
use super::words::{self, Shown};
use crate::numbers;

/// A published figure for readers, and the one of this run beside it.
#[derive(serde::Serialize)]
pub(crate) struct Row {
    pub(crate) levels: String,
    pub(crate) metric: String,
    pub(crate) machine: String,
    pub(crate) published: String,
    /// Of the one arm that has its levels, or of the one comparison; empty where there are several or none.
    pub(crate) here: String,
    pub(crate) note: String,
}

impl<'a> View<'a> {
    /// What the article has of an arm on the metric that verdicts are about.
    fn published_of(&self, arm: &ArmFigures) -> impl Iterator<Item = &'a PublishedFigure> {
        let (arm, metric) = (arm.clone(), self.metric().name.as_str());
        let all = self.run.study.published.iter();
        let figures = all.filter(|figure| figure.against.is_none());
        figures.filter(move |figure| figure.metric == metric && is_about(figure, &arm))
    }

    pub(crate) fn published_values(&self, arm: &ArmFigures) -> Vec<f64> {
        self.published_of(arm).map(|figure| figure.value).collect()
    }

    /// The ratios of a contrast: those that the article has itself, and of its figures those on each
    /// machine that has both. Machines differ in their figures, and less in these.
    pub(crate) fn published_ratios(&self, found: &LevelResult) -> Vec<f64> {
        let told = self.told_ratios(&found.level, &found.against, &found.cell);
        [told, self.ratios_of_figures(found)].concat()
    }

    /// The ratios that the article has itself of a geometric mean.
    pub(crate) fn published_means(&self, mean: &MeanResult) -> Vec<f64> {
        self.told_ratios(&mean.level, &mean.against, &mean.cell)
    }

    fn told_ratios(&self, level: &str, against: &str, cell: &Levels) -> Vec<f64> {
        let all = self.run.study.published.iter();
        let about = all.filter(|figure| self.is_ratio_of(figure, [level, against], cell));
        about.map(|figure| figure.value).collect()
    }

    /// Whether a figure is a ratio of one level to another in a cell. One without a level of the
    /// factor over which a mean is asked for is about the mean, whose cell has none either.
    fn is_ratio_of(&self, figure: &PublishedFigure, pair: [&str; 2], cell: &Levels) -> bool {
        let compare = &self.judgement.compare;
        let [level, against] = pair.map(|level| (compare.clone(), level.to_owned()));
        let over = self.run.study.design.mean_over.iter();
        let mut own = cell.clone();
        own.extend([level]);
        figure.metric == self.metric().name
            && figure.against == Some(Levels::from([against]))
            && figure.levels.contains_key(compare)
            && has_all(&own, &figure.levels)
            && over
                .into_iter()
                .all(|over| cell.contains_key(over) == figure.levels.contains_key(over))
    }

    /// What this run has of a ratio of the article; `None` where it is not judged, or of several.
    fn measured_ratio(&self, figure: &PublishedFigure) -> Option<Shown> {
        let means = self.judgement.means.iter();
        let means =
            means.filter(|mean| self.is_ratio_of(figure, [&mean.level, &mean.against], &mean.cell));
        let means = means.filter_map(|mean| mean.effect.as_ref().map(Shown::effect));
        let contrasts = self.judgement.contrasts.iter();
        let contrasts = contrasts
            .filter(|found| self.is_ratio_of(figure, [&found.level, &found.against], &found.cell));
        let mut all = means.chain(contrasts.map(|found| Shown::change(&found.change)));
        all.next().filter(|_| all.next().is_none())
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

    /// Every published figure, in the study's order.
    pub(crate) fn published(&self) -> Vec<Row> {
        let all = self.run.study.published.iter();
        all.map(|figure| self.row(figure)).collect()
    }

    fn row(&self, figure: &'a PublishedFigure) -> Row {
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
        Row {
            levels,
            metric: metric.map_or_else(|| figure.metric.clone(), |metric| metric.title.clone()),
            machine: figure.machine.clone(),
            published,
            here: here.unwrap_or_default().value,
            note: figure.note.clone(),
        }
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

    /// What this run has of a figure of the article; `None` where no arm is meant, or several.
    fn measured_figure(&self, figure: &PublishedFigure, metric: &MetricInfo) -> Option<Shown> {
        let arms = self.judgement.arms.iter();
        let mut about = arms.filter(|arm| arm.role != Role::Control && is_about(figure, arm));
        let arm = about.next().filter(|_| about.next().is_none())?;
        Some(Shown::figure(figure_on(arm, &figure.metric), metric))
    }
}

/// Whether a figure is about an arm: the arm has all its levels.
fn is_about(figure: &PublishedFigure, arm: &ArmFigures) -> bool {
    has_all(&arm.levels, &figure.levels)
}

fn has_all(levels: &Levels, of: &Levels) -> bool {
    of.iter()
        .all(|(factor, level)| levels.get(factor) == Some(level))
}
