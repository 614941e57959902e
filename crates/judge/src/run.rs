//! Judges a run: calls the statistics in the order in which they need one another.

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
/// Figures are given for everything that was measured. Verdicts are withheld (`Invalid`) where the
/// control differs or was lost, pairs are too few, the arms' requests fail differently, or the
/// client was the limit of a throughput. The doubts say which.
pub fn judge(run: &RunRecord, blocks: &[BlockRecord]) -> Judgement {
    let rounds = Rounds::of(blocks);
    let rounds_done = rounds.complete(&run.arms);
    let rounds_planned = settled_rounds(run, blocks).unwrap_or(run.study.design.rounds);
    let judged = JudgedSteps::of(run, &rounds);
    let gate = judged.gate(run);
    let JudgedSteps {
        phase: climb,
        comparisons,
        control,
        steps,
        whole,
    } = judged;
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
        // The interval of a gate already includes how far builds of one commit differ.
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

/// The number of rounds after which a run ends early: at the planned look where its answer was
/// clear, or where a gate's time was over. `None` where it goes on, or no look is planned.
pub fn settled_rounds(run: &RunRecord, blocks: &[BlockRecord]) -> Option<u32> {
    let design = &run.study.design;
    if design.looks.is_empty() {
        return None;
    }
    let rounds = Rounds::of(blocks);
    let rounds_done = rounds.complete(&run.arms);
    let is_clear = |look: &u32| {
        let until_then = rounds.within(&(0..*look));
        let judged = JudgedSteps::of(run, &until_then);
        judged.gate(run).map_or_else(
            || looks::are_clear(&judged.steps, design.smallest_effect),
            |gate| gate.passage != Passage::CannotTell,
        )
    };
    let reached = design.looks.iter().filter(|look| **look <= rounds_done);
    let settled = reached.copied().find(is_clear);
    settled.or_else(|| rounds_in_time(run, blocks))
}

/// The round in which a gate's time was over, counted from 1, and no earlier than a quick form's
/// last.
pub fn rounds_in_time(run: &RunRecord, blocks: &[BlockRecord]) -> Option<u32> {
    let gate = run.study.gate.as_ref().filter(|gate| gate.most_ms > 0)?;
    let is_over = |block: &&BlockRecord| {
        block.phase == Phase::Throughput
            && block.at_ms >= gate.most_ms
            && block.round + 1 >= QUICK_PAIRS
    };
    blocks.iter().find(is_over).map(|block| block.round + 1)
}

/// The judged comparisons of a run in closed loop.
struct JudgedSteps<'a> {
    phase: JudgedPhase<'a>,
    comparisons: Comparisons<'a>,
    control: Option<StepResult>,
    steps: Vec<StepResult>,
    whole: Option<StepResult>,
}

impl<'a> JudgedSteps<'a> {
    fn of(run: &'a RunRecord, rounds: &'a Rounds<'a>) -> Self {
        let (design, rounds_done) = (&run.study.design, rounds.complete(&run.arms));
        let outcome = outcome(run, rounds);
        let rules = Rules {
            family_alpha: looks::alpha(&design.looks, rounds_done),
            // A gate restarts its processes in every round.
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

impl JudgedSteps<'_> {
    /// Whether the second of two commits passes; `None` for a run without a gate.
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

/// The results of all steps and of the whole, which may be the last step.
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

/// Chooses the outcome. CPU per request is steadier and, on one machine, the only fair outcome; it
/// needs the target's CPU time in every block. The rate of a server that others load says nothing
/// about the server.
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

/// The doubt about failed requests, from the arm with the largest failed share over blocks of all
/// phases.
fn failed_requests(run: &RunRecord, blocks: &[BlockRecord]) -> Option<Doubt> {
    let of_arm = |arm: &Arm| {
        let blocks = blocks.iter().filter(|block| block.arm == arm.name);
        failures::failed_share(blocks)
    };
    let failed_share = run.all_arms().map(of_arm).max_by(f64::total_cmp)?;
    failures::is_doubtful(failed_share).then_some(Doubt::RequestsFailed { failed_share })
}

/// The doubt about the first arm of which half of the closed-loop blocks or more have no answer.
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

/// The doubt about blocks of a watched server that have no figure of its CPU.
fn not_scored(run: &RunRecord, blocks: &[BlockRecord]) -> Option<Doubt> {
    let is_lost = |block: &&BlockRecord| block.reading.server_cpu_us_per_request().is_none();
    let lost = blocks.iter().filter(is_lost).count();
    (run.is_watched() && lost > 0).then(|| Doubt::NotScored {
        blocks: count(lost),
        of: count(blocks.len()),
    })
}

/// The doubt about traffic on connections older than the levers: the largest share of it among
/// blocks that count.
fn older_connections(blocks: &[BlockRecord]) -> Option<Doubt> {
    let carried = blocks.iter().filter_map(|block| block.reading.carried);
    let shares = carried.map(|carried| carried.older_share());
    let counted = shares.filter(|share| *share <= CarriedReading::MOST_OLDER_SHARE);
    let share = counted.max_by(f64::total_cmp)?;
    (share > 0.0).then_some(Doubt::OlderConnections { share })
}

/// Names of the baseline and its control.
fn identical(run: &RunRecord) -> Vec<&str> {
    let is_baseline = |arm: &&Arm| matches!(arm.role, Role::Baseline | Role::Control);
    let identical = run.arms.iter().filter(is_baseline);
    identical.map(|arm| arm.name.as_str()).collect()
}
