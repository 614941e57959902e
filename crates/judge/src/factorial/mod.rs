//! Judges a factorial run: every level against its reference, cell by cell, from pairs of runs of
//! one round; their geometric mean; and what two factors do together.

mod agreement;
mod doubts;
mod exact;
mod figures;
mod layout;
mod means;
mod metrics;
mod planned;
mod surroundings;

use model::command_run::{CommandArm, CommandBlock};
use model::command_study::Better;
use model::judgement::{
    Beside, Change, ExactChange, FACTORIAL_FORMAT, FactorialJudgement, InteractionResult,
    LevelResult, Levels, MetricInfo,
};
use model::study::Role;
use model::{CommandRun, Verdict};

pub use planned::{fewest_rounds_of_plan, visible_to_plan};

use crate::ceilings::of_commands;
use crate::contrast::Contrast;
use crate::family::{self, Question, Verdicts};
use crate::rules::{CONTROL_ALPHA, Rules, most_of};
use crate::square::Square;
use crate::values::Values;
use crate::{Direction, count, fewest_pairs, sequential, signed_rank};

use layout::{Layout, Pair};
use means::Mean;

/// Two-sided error of estimates that no verdict is about.
const ALPHA: f64 = 0.05;

/// Judges the blocks of a run of commands, finished or not.
///
/// All verdicts share one error of 5 %: every level against its reference in every cell, every
/// mean, and everything that an interaction says. Figures are given for whatever was measured;
/// verdicts are withheld (`Invalid`) where the control differs, pairs are too few, runs did not end
/// in time, outputs that must agree do not, or sizes were the smoke ones. The doubts say which.
pub fn judge_commands(run: &CommandRun, blocks: &[CommandBlock]) -> FactorialJudgement {
    let study = Factorial::of(run, blocks);
    let control = study.judge_control();
    let verdicts = study.judge_family(control.as_ref());
    let arms = figures::of_arms(run, blocks, &study.metrics, &study.values);
    FactorialJudgement {
        format: FACTORIAL_FORMAT,
        compare: run.study.design.compare.clone(),
        ceilings: of_commands(run, &arms),
        arms,
        contrasts: study.contrasts(&verdicts, study.is_all_void(control.as_ref())),
        means: means::results(&study, &verdicts),
        interactions: study.interactions(&verdicts),
        smallest_visible: study.smallest_visible(),
        sequential: sequential::error_of(&study.identical_values()),
        rounds_done: study.rounds_done,
        rounds_planned: run.study.design.rounds,
        doubts: doubts::of(&study, control.as_ref()),
        metrics: study.metrics,
        control,
    }
}

/// The data that every part of the judgement uses.
struct Factorial<'a> {
    run: &'a CommandRun,
    blocks: &'a [CommandBlock],
    metrics: Vec<MetricInfo>,
    /// The values of each metric; there is at least one.
    values: Vec<Values<'a>>,
    rounds_done: u32,
    rules: Rules,
    pairs: Vec<Pair<'a>>,
    means: Vec<Mean<'a>>,
    /// Each square with its cell.
    squares: Vec<(Levels, Square<'a>)>,
    /// The arms that may have no verdict, whatever they are compared with.
    void: Vec<&'a str>,
}

impl<'a> Factorial<'a> {
    fn of(run: &'a CommandRun, blocks: &'a [CommandBlock]) -> Self {
        let metrics = metrics::of(run);
        let values: Vec<Values<'_>> = metrics
            .iter()
            .map(|metric| metrics::values(run, &metric.name, blocks))
            .collect();
        let layout = Layout::of(&run.arms);
        let pairs = layout.pairs(&run.study.design.compare);
        let rounds_done = rounds_done(run, blocks);
        let mut study = Self {
            run,
            blocks,
            metrics,
            values,
            rounds_done,
            rules: Rules::of_rounds(run.study.design.smallest_effect, rounds_done),
            squares: layout::squares(&run.study, &layout),
            means: Vec::new(),
            void: doubts::void_arms(run, blocks),
            pairs,
        };
        let over = run.study.design.mean_over.as_deref();
        study.means = means::of(over, &study.pairs, |pair| study.has_most_rounds(pair));
        // At least as many pairs as can show that any contrast of the family differs at all.
        let can_tell = fewest_pairs(family::share_of_first(study.family().len()));
        study.rules.fewest_pairs = study.rules.fewest_pairs.max(can_tell);
        study
    }

    /// The values that verdicts are about.
    fn primary(&self) -> &Values<'a> {
        &self.values[0]
    }

    fn direction(&self) -> Direction {
        match self.metrics[0].better {
            Better::Lower => Direction::LowerIsBetter,
            Better::Higher => Direction::HigherIsBetter,
        }
    }

    /// All contrasts that share the error, each once. Values that never vary have no error.
    fn family(&self) -> Vec<Contrast<'a>> {
        let pairs = self.pairs.iter();
        let varying = pairs.filter(|pair| self.exact(pair, 0).is_none());
        each_once(varying, &self.means, &self.squares)
    }

    fn exact(&self, pair: &Pair<'_>, metric: usize) -> Option<ExactChange> {
        exact::change(&self.values[metric], pair.arm, pair.against_arm)
    }

    fn control_pair(&self) -> Option<Pair<'a>> {
        let with_role = |role| {
            self.run
                .arms
                .iter()
                .find(|arm: &&CommandArm| arm.role == role)
        };
        let (control, baseline) = (with_role(Role::Control)?, with_role(Role::Baseline)?);
        layout::pair(control, baseline, &self.run.study.design.compare)
    }

    /// Judges the control: the baseline against itself.
    fn judge_control(&self) -> Option<LevelResult> {
        let pair = self.control_pair()?;
        let change = self.change(&pair, 0, CONTROL_ALPHA);
        let verdict = match &change {
            Change::Exact(same) if exact::is_near(same, &self.rules) => {
                exact::verdict(same, self.direction(), &self.rules)
            }
            Change::Exact(_) | Change::Unknown => Verdict::Invalid,
            Change::Estimated(effect) => self.rules.control_verdict(Some(effect)),
        };
        Some(self.result(&pair, verdict, change))
    }

    fn judge_family(&self, control: Option<&LevelResult>) -> Verdicts<'a> {
        let all_void = self.is_all_void(control);
        let noise = control.and_then(|control| control.change.effect());
        let question = |contrast: &Contrast<'a>| Question {
            contrast: contrast.clone(),
            values: self.primary(),
            direction: self.direction(),
            control: noise.copied(),
            is_void: all_void || contrast.arms().any(|arm| self.void.contains(&arm)),
        };
        let contrasts = self.family();
        let questions: Vec<Question<'_>> = contrasts.iter().map(question).collect();
        let answers = family::judge(&questions, self.rules);
        Verdicts::new(contrasts, answers)
    }

    fn contrasts(&self, verdicts: &Verdicts<'_>, all_void: bool) -> Vec<LevelResult> {
        let result = |pair: &Pair<'_>| {
            let (verdict, change) = match self.exact(pair, 0) {
                Some(exact) if all_void || self.is_void(pair) => {
                    (Verdict::Invalid, Change::Exact(exact))
                }
                Some(exact) => {
                    let verdict = exact::verdict(&exact, self.direction(), &self.rules);
                    (verdict, Change::Exact(exact))
                }
                None => {
                    let judged = verdicts.on(&pair.contrast());
                    let change = judged.effect.map_or(Change::Unknown, Change::Estimated);
                    (judged.verdict, change)
                }
            };
            self.result(pair, verdict, change)
        };
        self.pairs.iter().map(result).collect()
    }

    fn has_most_rounds(&self, pair: &Pair<'_>) -> bool {
        let rounds = pair.contrast().log_ratios(self.primary()).len();
        let needed = most_of(self.rounds_done).max(1);
        rounds >= needed as usize && !self.is_void(pair)
    }

    /// Whether nothing may have a verdict: the control forbids it, or the sizes were not those that
    /// the study is about.
    fn is_all_void(&self, control: Option<&LevelResult>) -> bool {
        family::voids(control.map(|control| control.verdict)) || doubts::is_smoke(self.run)
    }

    fn is_void(&self, pair: &Pair<'_>) -> bool {
        let mut arms = [pair.arm, pair.against_arm].into_iter();
        arms.any(|arm| self.void.contains(&arm))
    }

    fn result(&self, pair: &Pair<'_>, verdict: Verdict, change: Change) -> LevelResult {
        let others = self.metrics.iter().enumerate().skip(1);
        let beside = others.map(|(index, metric)| Beside {
            metric: metric.name.clone(),
            change: self.change(pair, index, ALPHA),
        });
        LevelResult {
            cell: pair.cell.clone(),
            arm: pair.arm.to_owned(),
            level: pair.level.to_owned(),
            against: pair.against.to_owned(),
            verdict,
            change,
            beside: beside.collect(),
        }
    }

    /// The change of one metric, with an error of its own.
    fn change(&self, pair: &Pair<'_>, metric: usize, alpha: f64) -> Change {
        if let Some(exact) = self.exact(pair, metric) {
            return Change::Exact(exact);
        }
        let log_ratios = pair.contrast().log_ratios(&self.values[metric]);
        signed_rank::effect(&log_ratios, alpha).map_or(Change::Unknown, Change::Estimated)
    }

    fn interactions(&self, verdicts: &Verdicts<'_>) -> Vec<InteractionResult> {
        let Some(factors) = &self.run.study.design.interaction else {
            return Vec::new();
        };
        let result = |(cell, square): &(Levels, Square<'_>)| InteractionResult {
            cell: cell.clone(),
            factors: factors.clone(),
            square: square.judged(verdicts),
        };
        self.squares.iter().map(result).collect()
    }

    /// The smallest effect that the control's pairs could see.
    fn smallest_visible(&self) -> Option<f64> {
        let noise = self.control_pair()?;
        family::smallest_visible(&noise.contrast(), self.primary(), self.family().len())
    }

    /// The values of baseline and control, in the order in which they were measured.
    fn identical_values(&self) -> Vec<f64> {
        let is_baseline = |arm: &&CommandArm| matches!(arm.role, Role::Baseline | Role::Control);
        let identical = self.run.arms.iter().filter(is_baseline);
        let identical: Vec<&str> = identical.map(|arm| arm.name.as_str()).collect();
        self.primary().in_time_order(&identical)
    }
}

/// Rounds in which every arm was run, whether or not it failed.
fn rounds_done(run: &CommandRun, blocks: &[CommandBlock]) -> u32 {
    let runs_of = |arm: &CommandArm| blocks.iter().filter(|block| block.arm == arm.name).count();
    count(run.arms.iter().map(runs_of).min().unwrap_or(0))
}

/// All contrasts that a study asks about, each once: a contrast of a square may also be a pair.
fn each_once<'a, 'b>(
    pairs: impl Iterator<Item = &'b Pair<'a>>,
    means: &[Mean<'a>],
    squares: &[(Levels, Square<'a>)],
) -> Vec<Contrast<'a>>
where
    'a: 'b,
{
    let all = pairs
        .map(Pair::contrast)
        .chain(means.iter().filter_map(Mean::contrast))
        .chain(squares.iter().flat_map(|(_, square)| square.contrasts()));
    family::each_once(all)
}
