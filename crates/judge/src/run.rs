//! Judges a run: puts the statistics together in the order in which one needs the other.

use model::judgement::{JUDGEMENT_FORMAT, Judgement, Outcome, StepResult};
use model::run::Phase;
use model::study::Role;
use model::{BlockRecord, Doubt, RunRecord};

use crate::detectable::smallest_visible;
use crate::ladder::{self, Court};
use crate::metric::Metric;
use crate::rounds::Rounds;
use crate::steps::{Comparison, Comparisons};
use crate::{arms, doubts, failures, holm, latency, sequential, surroundings};

/// Judges the blocks of a run, finished or not.
///
/// Figures are given for whatever was measured; verdicts are withheld (`Invalid`) where the
/// control differs, pairs are too few, the arms' requests fail differently, or the client was the
/// limit of a throughput. The doubts say which.
#[must_use]
pub fn judge(run: &RunRecord, blocks: &[BlockRecord]) -> Judgement {
    let rounds = Rounds::of(blocks);
    let outcome = outcome(&rounds);
    let comparisons = Comparisons::of(run, &rounds, outcome);
    let control = comparisons.judge_control();
    let smallest_visible = visible(&comparisons);
    let control_doubt = control_doubt(&comparisons, control.as_ref());
    let control_effect = control.as_ref().and_then(|control| control.effect);
    let (steps, whole) = comparisons.judge_family(control_effect.as_ref(), |comparison| {
        control_doubt.is_some() || is_void(comparison, &rounds, outcome)
    });
    let climb = Court {
        rounds: &rounds,
        outcome,
        rules: comparisons.rules,
        control: control_effect,
        is_void: control_doubt.is_some(),
    };
    let ladder = ladder::judge(run, blocks, &climb);
    let rounds_done = rounds.complete(&run.arms);
    let of_confirmation = ladder
        .as_ref()
        .map_or_else(Vec::new, |ladder| ladder::doubts(ladder, run, rounds_done));
    let found = [
        control_doubt,
        too_few_pairs(&comparisons),
        unfinished(run, rounds_done),
        failed_requests(run, blocks),
        answered_nothing(run, blocks),
        blind(run, smallest_visible),
    ];
    Judgement {
        format: JUDGEMENT_FORMAT,
        outcome,
        arms: arms::results(&run.arms, &rounds),
        steps,
        whole,
        control,
        smallest_visible,
        latency: latency::results(&run.arms, blocks),
        sequential: sequential::error_of(&identical_blocks(run, &rounds, outcome)),
        ladder,
        rounds_done,
        rounds_planned: run.study.design.rounds,
        doubts: doubts::merged(
            found
                .into_iter()
                .flatten()
                .chain(of_confirmation)
                .chain(doubts::of_blocks(run, blocks))
                .chain(known_before(run, smallest_visible))
                .chain(surroundings::doubts(run, &rounds)),
        ),
    }
}

/// CPU per request is the steadier and, on one machine, the only fair outcome; it needs the
/// target's CPU time in every block.
fn outcome(rounds: &Rounds<'_>) -> Outcome {
    let all_read = rounds
        .blocks()
        .all(|block| block.reading.cpu.server_ns.is_some());
    if all_read {
        Outcome::ServerCpuPerRequest
    } else {
        Outcome::Throughput
    }
}

/// From the pairs of two identical arms, or without a control from those of the first step, whose
/// spread is that of noise too. At the error that the first success of the family is given.
fn visible(comparisons: &Comparisons<'_>) -> Option<f64> {
    let noise = comparisons
        .control
        .or_else(|| comparisons.steps.first().copied())?;
    let differences = comparisons.log_ratios(&noise);
    let pairs = u32::try_from(differences.len()).ok()?;
    let alpha = holm::FAMILY_ALPHA / comparisons.family_size().max(1) as f64;
    smallest_visible(&differences, pairs, alpha)
}

/// Whether a comparison may not have a verdict, for reasons of its own two arms.
fn is_void(comparison: &Comparison<'_>, rounds: &Rounds<'_>, outcome: Outcome) -> bool {
    let both = [comparison.arm.name.as_str(), comparison.against];
    let [failed, failed_against] = both.map(|arm| failures::failed_share(rounds.blocks_of(arm)));
    let client_is_limit =
        || both.map(|arm| doubts::is_frequent(rounds.blocks_of(arm), doubts::is_client_limit));
    failures::differ(failed, failed_against)
        || (outcome == Outcome::Throughput && client_is_limit().contains(&true))
}

fn control_doubt(comparisons: &Comparisons<'_>, control: Option<&StepResult>) -> Option<Doubt> {
    let effect = control?.effect?;
    comparisons
        .rules
        .control_differs(&effect)
        .then_some(Doubt::ControlDiffers {
            ratio: effect.ratio,
            p_value: effect.p_value,
        })
}

fn too_few_pairs(comparisons: &Comparisons<'_>) -> Option<Doubt> {
    let needed = comparisons.rules.fewest_pairs;
    let all = comparisons.steps.iter().chain(&comparisons.control);
    let pairs = all
        .chain(&comparisons.whole)
        .map(|comparison| comparisons.log_ratios(comparison).len())
        .min()?;
    let pairs = u32::try_from(pairs).unwrap_or(u32::MAX);
    (pairs < needed).then_some(Doubt::TooFewPairs { pairs, needed })
}

fn unfinished(run: &RunRecord, rounds_done: u32) -> Option<Doubt> {
    let rounds_planned = run.study.design.rounds;
    (rounds_done < rounds_planned).then_some(Doubt::Unfinished {
        rounds_done,
        rounds_planned,
    })
}

/// Every arm that a run measures, by name: those of a confirmation, and of boots, come last.
fn all_arms(run: &RunRecord) -> impl Iterator<Item = &str> {
    let confirming = run
        .confirmation
        .iter()
        .flat_map(|confirmation| &confirmation.arms);
    let between_boots = run.reboot.iter().flat_map(|reboot| &reboot.arms);
    run.arms
        .iter()
        .chain(confirming)
        .chain(between_boots)
        .map(|arm| arm.name.as_str())
}

/// The arm with the largest share of failed requests, over blocks of all phases.
fn failed_requests(run: &RunRecord, blocks: &[BlockRecord]) -> Option<Doubt> {
    let of_arm = |name: &str| {
        let blocks = blocks.iter().filter(|block| block.arm == name);
        failures::failed_share(blocks)
    };
    let failed_share = all_arms(run).map(of_arm).max_by(f64::total_cmp)?;
    failures::is_doubtful(failed_share).then_some(Doubt::RequestsFailed { failed_share })
}

/// The first arm whose median block of closed loop is without an answer.
fn answered_nothing(run: &RunRecord, blocks: &[BlockRecord]) -> Option<Doubt> {
    let is_silent = |arm: &&str| {
        let closed = |block: &&BlockRecord| block.phase != Phase::Latency && block.arm == *arm;
        let of_arm = blocks.iter().filter(closed);
        let (all, silent) = of_arm.fold((0_u32, 0_u32), |(all, silent), block| {
            (all + 1, silent + u32::from(block.reading.answered == 0))
        });
        silent > 0 && silent * 2 >= all
    };
    let arm = all_arms(run).find(is_silent)?.to_owned();
    Some(Doubt::AnsweredNothing { arm })
}

fn blind(run: &RunRecord, smallest_visible: Option<f64>) -> Option<Doubt> {
    let sought = run.study.design.smallest_effect;
    smallest_visible
        .filter(|visible| *visible > sought)
        .map(|smallest_visible| Doubt::BlindToEffect {
            smallest_visible,
            sought,
        })
}

/// What was doubted before the first block. A forecast of blindness gives way to the measured
/// figure, where there is one.
fn known_before(run: &RunRecord, measured: Option<f64>) -> impl Iterator<Item = Doubt> {
    run.doubts
        .iter()
        .filter(move |doubt| {
            let is_forecast = matches!(doubt, Doubt::BlindToEffect { .. });
            measured.is_none() || !is_forecast
        })
        .cloned()
}

/// The outcomes of baseline and control, in the order in which they were measured.
fn identical_blocks(run: &RunRecord, rounds: &Rounds<'_>, outcome: Outcome) -> Vec<f64> {
    let identical: Vec<&str> = run
        .arms
        .iter()
        .filter(|arm| matches!(arm.role, Role::Baseline | Role::Control))
        .map(|arm| arm.name.as_str())
        .collect();
    rounds.in_time_order(&identical, Metric::of_outcome(outcome))
}
