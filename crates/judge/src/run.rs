//! Judges a run: puts the statistics together in the order in which one needs the other.

use model::gate::{GateResult, Passage};
use model::judgement::{JUDGEMENT_FORMAT, Judgement, Outcome, StepResult};
use model::reading::CarriedReading;
use model::run::Phase;
use model::study::Role;
use model::{Arm, BlockRecord, Doubt, RunRecord, Verdict};

use crate::contrast::Contrast;
use crate::metric::Metric;
use crate::phase::JudgedPhase;
use crate::rounds::Rounds;
use crate::rules::{QUICK_PAIRS, Rules};
use crate::steps::{Comparison, Comparisons};
use crate::{
    arms, ceilings, count, doubts, failures, family, gate, ladder, latency, looks, scale,
    sequential, surroundings,
};

/// Judges the blocks of a run, finished or not.
///
/// Figures are given for whatever was measured; verdicts are withheld (`Invalid`) where the
/// control differs or was lost, pairs are too few, the arms' requests fail differently, or the client was the
/// limit of a throughput. The doubts say which.
pub fn judge(run: &RunRecord, blocks: &[BlockRecord]) -> Judgement {
    let rounds = Rounds::of(blocks);
    let rounds_done = rounds.complete(&run.arms);
    let rounds_planned = settled_rounds(run, blocks).unwrap_or(run.study.design.rounds);
    let climbed = Climbed::of(run, &rounds);
    let gate = climbed.gate(run);
    let Climbed {
        phase: climb,
        comparisons,
        control,
        steps,
        whole,
    } = climbed;
    let (outcome, rules) = (climb.outcome, climb.rules);
    let values = rounds.values(Metric::of_outcome(outcome));
    let smallest_visible = comparisons.noise().and_then(|noise| {
        family::smallest_visible(&noise.contrast(), values, comparisons.family().len())
    });
    let ladder = ladder::judge(run, blocks, &climb);
    let of_confirmation = ladder
        .as_ref()
        .map_or_else(Vec::new, |ladder| ladder::doubts(ladder, run, rounds_done));
    let pairs_of = |comparison: Comparison<'_>| comparison.contrast().log_ratios(values).len();
    let fewest = comparisons.all().map(pairs_of).min();
    let found = [
        // How far builds of one commit lie apart is in a gate's interval.
        (gate.is_none())
            .then(|| doubts::control_differs(&rules, climb.control.as_ref()))
            .flatten(),
        fewest.and_then(|pairs| doubts::too_few_pairs(&rules, count(pairs))),
        doubts::unfinished(rounds_done, rounds_planned),
        failed_requests(run, blocks),
        answered_nothing(run, blocks),
        not_scored(run, blocks),
        older_connections(blocks),
        doubts::blind(smallest_visible, rules.smallest_effect),
    ];
    let arms = arms::results(&run.arms, &rounds);
    Judgement {
        format: JUDGEMENT_FORMAT,
        outcome,
        ceilings: ceilings::of_arms(run, &rounds),
        scale: scale::judge(run, &rounds, (&arms, &steps)),
        arms,
        steps,
        whole,
        control,
        smallest_visible,
        latency: latency::results(&run.arms, blocks),
        sequential: sequential::error_of(&values.in_time_order(&identical(run))),
        ladder,
        gate,
        rounds_done,
        rounds_planned,
        doubts: doubts::merged(
            found
                .into_iter()
                .flatten()
                .chain(of_confirmation)
                .chain(doubts::of_blocks(run, blocks))
                .chain(doubts::known_before(&run.doubts, smallest_visible))
                .chain(surroundings::doubts(run, &rounds)),
        ),
    }
}

/// After how many rounds a run is at its end before its last: at the planned look at which its answer was clear, or
/// where a gate's time was over. `None` where it is not yet, or no look is planned.
pub fn settled_rounds(run: &RunRecord, blocks: &[BlockRecord]) -> Option<u32> {
    let design = &run.study.design;
    if design.looks.is_empty() {
        return None;
    }
    let rounds = Rounds::of(blocks);
    let rounds_done = rounds.complete(&run.arms);
    let is_clear = |look: &u32| {
        let until_then = rounds.within(&(0..*look));
        let climbed = Climbed::of(run, &until_then);
        climbed.gate(run).map_or_else(
            || looks::are_clear(&climbed.steps, design.smallest_effect),
            |gate| gate.passage != Passage::CannotTell,
        )
    };
    let reached = design.looks.iter().filter(|look| **look <= rounds_done);
    let settled = reached.copied().find(is_clear);
    settled.or_else(|| rounds_in_time(run, blocks))
}

/// The round with which the time of a gate was over, of as many as a verdict takes or more; counted from 1.
pub fn rounds_in_time(run: &RunRecord, blocks: &[BlockRecord]) -> Option<u32> {
    let gate = run.study.gate.as_ref().filter(|gate| gate.most_ms > 0)?;
    let is_over = |block: &&BlockRecord| {
        block.phase == Phase::Throughput
            && block.at_ms >= gate.most_ms
            && block.round + 1 >= QUICK_PAIRS
    };
    blocks.iter().find(is_over).map(|block| block.round + 1)
}

/// The comparisons of a run in closed loop, judged.
struct Climbed<'a> {
    phase: JudgedPhase<'a>,
    comparisons: Comparisons<'a>,
    control: Option<StepResult>,
    steps: Vec<StepResult>,
    whole: Option<StepResult>,
}

impl<'a> Climbed<'a> {
    fn of(run: &'a RunRecord, rounds: &'a Rounds<'a>) -> Self {
        let (design, rounds_done) = (&run.study.design, rounds.complete(&run.arms));
        let outcome = outcome(run, rounds);
        let rules = Rules {
            family_alpha: looks::alpha(&design.looks, rounds_done),
            // A gate starts its processes anew in every round.
            states_last: !design.looks.is_empty() && run.study.gate.is_none(),
            ..Rules::of_rounds(design.smallest_effect, rounds_done)
        };
        let comparisons = Comparisons::of(run);
        let values = rounds.values(Metric::of_outcome(outcome));
        let control = comparisons.control.map(|control| {
            let answer = family::judge_control(&control.contrast(), values, rules);
            control.result(&answer, rounds)
        });
        let phase = JudgedPhase {
            rounds,
            outcome,
            rules,
            control: control.as_ref().and_then(|control| control.effect),
            is_void: run.study.gate.is_none()
                && family::voids(control.as_ref().map(|control| control.verdict)),
        };
        let (steps, whole) = results(&comparisons, &phase);
        Self {
            phase,
            comparisons,
            control,
            steps,
            whole,
        }
    }
}

impl Climbed<'_> {
    /// Whether the second of two commits passes, where that was asked.
    fn gate(&self, run: &RunRecord) -> Option<GateResult> {
        let design = run.study.gate.as_ref()?;
        let JudgedPhase {
            rounds,
            outcome,
            rules,
            ..
        } = &self.phase;
        let control = self.comparisons.control?;
        let names = gate::Names {
            base: control.against,
            same: &control.arm.name,
            head: &self.comparisons.steps.first()?.arm.name,
        };
        let is_fair = self.steps.first()?.verdict != Verdict::Invalid;
        Some(gate::judge(
            design,
            (rounds, *outcome),
            &names,
            rules,
            is_fair,
        ))
    }
}

/// The result on each step, and on the whole, which may be the last of them.
fn results(
    comparisons: &Comparisons<'_>,
    climb: &JudgedPhase<'_>,
) -> (Vec<StepResult>, Option<StepResult>) {
    let family = comparisons.family();
    let contrasts: Vec<Contrast<'_>> = family.iter().map(Comparison::contrast).collect();
    let answers = climb.judge(&contrasts);
    let results = family.iter().zip(&answers);
    let mut steps: Vec<StepResult> = results
        .map(|(comparison, answer)| comparison.result(answer, climb.rounds))
        .collect();
    let whole = steps.last().cloned();
    steps.truncate(comparisons.steps.len());
    (steps, whole)
}

/// CPU per request is the steadier and, on one machine, the only fair outcome; it needs the
/// target's CPU time in every block. How much goes over a server that others load says nothing of it.
fn outcome(run: &RunRecord, rounds: &Rounds<'_>) -> Outcome {
    if run.is_watched() {
        return Outcome::ServerCpuPerKilobyte;
    }
    let all_read = rounds
        .blocks()
        .all(|block| block.reading.cpu.server_ns.is_some());
    if all_read {
        Outcome::ServerCpuPerRequest
    } else {
        Outcome::Throughput
    }
}

/// The arm with the largest share of failed requests, over blocks of all phases.
fn failed_requests(run: &RunRecord, blocks: &[BlockRecord]) -> Option<Doubt> {
    let of_arm = |arm: &Arm| {
        let blocks = blocks.iter().filter(|block| block.arm == arm.name);
        failures::failed_share(blocks)
    };
    let failed_share = run.all_arms().map(of_arm).max_by(f64::total_cmp)?;
    failures::is_doubtful(failed_share).then_some(Doubt::RequestsFailed { failed_share })
}

/// The first arm whose median block of closed loop is without an answer.
fn answered_nothing(run: &RunRecord, blocks: &[BlockRecord]) -> Option<Doubt> {
    if run.is_watched() {
        return None;
    }
    let is_silent = |arm: &&Arm| {
        let closed = |block: &&BlockRecord| block.phase != Phase::Latency && block.arm == arm.name;
        let of_arm = blocks.iter().filter(closed);
        let (all, silent) = of_arm.fold((0_u32, 0_u32), |(all, silent), block| {
            (all + 1, silent + u32::from(block.reading.answered == 0))
        });
        silent > 0 && silent * 2 >= all
    };
    let arm = run.all_arms().find(is_silent)?.name.clone();
    Some(Doubt::AnsweredNothing { arm })
}

/// Blocks of a server that was watched, and of which there is no figure.
fn not_scored(run: &RunRecord, blocks: &[BlockRecord]) -> Option<Doubt> {
    let is_lost = |block: &&BlockRecord| block.reading.server_cpu_us_per_request().is_none();
    let lost = blocks.iter().filter(is_lost).count();
    (run.is_watched() && lost > 0).then(|| Doubt::NotScored {
        blocks: count(lost),
        of: count(blocks.len()),
    })
}

/// What connections carried in a block that counts whose levers have not taken hold of them.
fn older_connections(blocks: &[BlockRecord]) -> Option<Doubt> {
    let carried = blocks.iter().filter_map(|block| block.reading.carried);
    let shares = carried.map(|carried| carried.older_share());
    let counted = shares.filter(|share| *share <= CarriedReading::MOST_OLDER_SHARE);
    let share = counted.max_by(f64::total_cmp)?;
    (share > 0.0).then_some(Doubt::OlderConnections { share })
}

/// The baseline and its control.
fn identical(run: &RunRecord) -> Vec<&str> {
    let is_baseline = |arm: &&Arm| matches!(arm.role, Role::Baseline | Role::Control);
    let identical = run.arms.iter().filter(is_baseline);
    identical.map(|arm| arm.name.as_str()).collect()
}
