//! The article's figures beside those measured here.

use model::command_study::PublishedFigure;
use model::judgement::{ArmFigures, LevelResult};

use super::view::{View, figure_on};
use super::words::Shown;
use crate::numbers;

/// A published figure for readers, and the one of this run beside it.
#[derive(serde::Serialize)]
pub(crate) struct Row {
    pub(crate) levels: String,
    pub(crate) metric: String,
    pub(crate) machine: String,
    pub(crate) published: String,
    /// Of the arms that have its levels; empty where there are several or none.
    pub(crate) here: String,
    pub(crate) note: String,
}

impl<'a> View<'a> {
    /// What the article has of an arm on the metric that verdicts are about.
    fn published_of(&self, arm: &ArmFigures) -> impl Iterator<Item = &'a PublishedFigure> {
        let (arm, metric) = (arm.clone(), self.metric().name.as_str());
        let all = self.run.study.published.iter();
        all.filter(move |figure| figure.metric == metric && is_about(figure, &arm))
    }

    pub(crate) fn published_values(&self, arm: &ArmFigures) -> Vec<f64> {
        self.published_of(arm).map(|figure| figure.value).collect()
    }

    /// The ratios of a contrast on each machine of which the article has both figures: machines
    /// differ in their figures, and less in these.
    pub(crate) fn published_ratios(&self, found: &LevelResult) -> Vec<f64> {
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
        let arms: Vec<&ArmFigures> = self.judgement.arms.iter().collect();
        let mut about = arms
            .iter()
            .filter(|arm| arm.role != model::Role::Control && is_about(figure, arm));
        let here = match (about.next(), about.next(), metric) {
            (Some(arm), None, Some(metric)) => {
                Shown::figure(figure_on(arm, &figure.metric), metric).value
            }
            _ => String::new(),
        };
        Row {
            levels: self.cell(&figure.levels),
            metric: metric.map_or_else(|| figure.metric.clone(), |metric| metric.title.clone()),
            machine: figure.machine.clone(),
            published: numbers::quantity(figure.value, unit),
            here,
            note: figure.note.clone(),
        }
    }
}

/// Whether a figure is about an arm: the arm has all its levels.
fn is_about(figure: &PublishedFigure, arm: &ArmFigures) -> bool {
    let has = |(factor, level): (&String, &String)| arm.levels.get(factor) == Some(level);
    figure.levels.iter().all(has)
}
