//! A factorial run in a reader's words: titles for the names of factors, levels and metrics.

use model::command_run::CommandRun;
use model::command_study::Factor;
use model::judgement::{ArmFigures, FactorialJudgement, Figure, LevelResult, Levels, MetricInfo};
use model::study::Role;

use crate::grouped::grouped;

/// Prefix of the name of a metric that predicts another. The name of the predicted metric follows
/// it.
pub(crate) const PREDICTED: &str = "predicted_";

/// A run and its judgement.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) run: &'a CommandRun,
    pub(crate) judgement: &'a FactorialJudgement,
}

/// The arms of one cell.
pub(crate) struct Cell<'a> {
    pub(crate) title: String,
    /// In the order of the compared factor's levels.
    pub(crate) arms: Vec<&'a ArmFigures>,
}

impl<'a> View<'a> {
    /// The metric that verdicts are about.
    ///
    /// # Panics
    /// Never for what the judge returns: it always has the metrics that the kernel reports.
    pub(crate) fn metric(&self) -> &'a MetricInfo {
        let first = self.judgement.metrics.first();
        first.expect("a judgement has a metric")
    }

    /// Whether a metric is a prediction or is predicted by another: the two are read side by side.
    pub(crate) fn is_predicted(&self, name: &str) -> bool {
        let other = name
            .strip_prefix(PREDICTED)
            .map_or_else(|| format!("{PREDICTED}{name}"), str::to_owned);
        let mut metrics = self.judgement.metrics.iter();
        metrics.any(|metric| metric.name == other)
    }

    /// The title of a factor.
    pub(crate) fn factor(&self, name: &'a str) -> &'a str {
        let factor = self.run.study.factor(name);
        factor.map_or(name, |factor| factor.title.as_str())
    }

    /// Returns the title of a level, after the title of its factor if another factor has a level
    /// with the title of any level of this factor.
    pub(crate) fn level(&self, factor: &str, name: &str) -> String {
        let Some(factor) = self.run.study.factor(factor) else {
            return name.to_owned();
        };
        let title = factor
            .level(name)
            .map_or(name, |level| level.title.as_str());
        if self.has_own_level_titles(factor) {
            title.to_owned()
        } else {
            format!("{}: {title}", factor.title)
        }
    }

    /// Whether no other factor has a level with the title of one of this factor's, such as `off`
    /// and `on`.
    fn has_own_level_titles(&self, factor: &Factor) -> bool {
        let others = self.run.study.factors.iter();
        let others = others.filter(|other| other.name != factor.name);
        let mut titles = others
            .flat_map(|other| &other.levels)
            .map(|level| &level.title);
        !titles.any(|title| factor.levels.iter().any(|level| level.title == *title))
    }

    /// The title of a level of the compared factor, for a sentence.
    pub(crate) fn compared(&self, name: &str) -> String {
        self.level(&self.judgement.compare, name)
    }

    /// Returns the title of an arm's level of the compared factor, for use under a heading with the
    /// factor's title.
    pub(crate) fn own_level(&self, arm: &'a ArmFigures) -> &'a str {
        let compare = &self.judgement.compare;
        let name = arm.levels.get(compare).map_or("", String::as_str);
        let factor = self.run.study.factor(compare);
        let level = factor.and_then(|factor| factor.level(name));
        level.map_or(name, |level| level.title.as_str())
    }

    /// Joins the titles of levels in the order of their factors. Empty for the one cell of a study
    /// with one factor.
    pub(crate) fn cell(&self, levels: &Levels) -> String {
        let titles = self.run.study.factors.iter().filter_map(|factor| {
            let name = levels.get(&factor.name)?;
            Some(self.level(&factor.name, name))
        });
        titles.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn arm(&self, name: &str) -> Option<&'a ArmFigures> {
        self.judgement.arms.iter().find(|arm| arm.name == name)
    }

    /// An arm's figure on the metric that verdicts are about.
    pub(crate) fn figure(&self, arm: &'a ArmFigures) -> Option<&'a Figure> {
        figure_on(arm, &self.metric().name)
    }

    pub(crate) fn contrast(&self, arm: &ArmFigures) -> Option<&'a LevelResult> {
        match arm.role {
            Role::Control => self.judgement.control.as_ref(),
            _ => {
                let mut all = self.judgement.contrasts.iter();
                all.find(|found| found.arm == arm.name)
            }
        }
    }

    /// Returns the cells in the order of their first arms, without the control.
    pub(crate) fn cells(&self) -> Vec<Cell<'a>> {
        let arms = self.judgement.arms.iter();
        let arms = arms.filter(|arm| arm.role != Role::Control);
        let of_cell = |arm: &&ArmFigures| {
            let mut levels = arm.levels.clone();
            levels.remove(&self.judgement.compare);
            levels
        };
        let cell = |(levels, mut arms): (Levels, Vec<&'a ArmFigures>)| {
            arms.sort_by_key(|arm| self.place_of(arm));
            let title = self.cell(&levels);
            Cell { title, arms }
        };
        grouped(arms, of_cell).into_iter().map(cell).collect()
    }

    /// Position of an arm's level among the compared factor's levels in the study.
    fn place_of(&self, arm: &ArmFigures) -> Option<usize> {
        let factor = self.run.study.factor(&self.judgement.compare)?;
        let name = arm.levels.get(&factor.name)?;
        factor.levels.iter().position(|level| level.name == *name)
    }

    pub(crate) fn control(&self) -> Option<&'a ArmFigures> {
        let mut arms = self.judgement.arms.iter();
        arms.find(|arm| arm.role == Role::Control)
    }
}

/// An arm's figure on a metric.
pub(crate) fn figure_on<'a>(arm: &'a ArmFigures, metric: &str) -> Option<&'a Figure> {
    arm.figures.iter().find(|figure| figure.metric == metric)
}
