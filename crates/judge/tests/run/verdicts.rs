//! Which verdict a comparison gets.

use judge::judge;
use model::judgement::Outcome;
use model::{Doubt, Verdict};

use crate::built_run::ladder;
use crate::{LADDER, change, judged, rounds, verdicts};

#[test]
fn a_step_that_saves_a_fifth_is_better_one_that_saves_nothing_is_none_and_the_whole_is_better() {
    let judgement = judged(&rounds(16, &LADDER));
    assert_eq!(
        verdicts(&judgement),
        [
            Verdict::Better,
            Verdict::NoDifferenceThatMatters,
            Verdict::Better
        ]
    );
    assert_eq!(judgement.outcome, Outcome::ServerCpuPerRequest);
    let effect = judgement.steps[0].effect.unwrap();
    assert!(
        (effect.ratio - 0.8).abs() < 0.01 && effect.n == 16,
        "{effect:?}"
    );
    let whole = judgement.whole.unwrap();
    assert_eq!(
        (whole.arm.as_str(), whole.against.as_str()),
        ("step-2", "baseline")
    );
    let control = judgement.control.unwrap();
    assert_eq!(control.verdict, Verdict::NoDifferenceThatMatters);
    assert_eq!(control.effect.unwrap().alpha, 0.05);
    assert_eq!(judgement.doubts, [Doubt::OneMachine]);
    assert_eq!((judgement.rounds_done, judgement.rounds_planned), (16, 16));
}

#[test]
fn a_planted_half_percent_is_not_called() {
    let costs = [
        ("baseline", 20.0),
        ("control", 20.0),
        ("step-1", 20.1),
        ("step-2", 20.1),
    ];
    let found = verdicts(&judged(&rounds(16, &costs)));
    assert_eq!(found, [Verdict::NoDifferenceThatMatters; 3]);
}

#[test]
fn the_steps_and_the_whole_share_the_family_error_by_holm() {
    let judgement = judged(&rounds(16, &LADDER));
    let alphas = [
        &judgement.steps[0],
        judgement.whole.as_ref().unwrap(),
        &judgement.steps[1],
    ]
    .map(|step| step.effect.unwrap().alpha);
    assert_eq!(alphas, [0.05 / 3.0, 0.05 / 2.0, 0.05]);
}

#[test]
fn a_lone_step_has_the_whole_error_and_is_the_whole() {
    let judgement = judge(&ladder(1, 16), &rounds(16, &LADDER[..3]));
    assert_eq!(judgement.steps[0].effect.unwrap().alpha, 0.05);
    assert_eq!(judgement.whole.as_ref(), judgement.steps.last());
}

#[test]
fn a_control_that_differs_by_one_percent_voids_nothing() {
    let mut costs = LADDER;
    costs[1].1 = 20.2;
    let judgement = judged(&rounds(16, &costs));
    let control = judgement.control.as_ref().unwrap();
    assert!(control.effect.unwrap().p_value < 0.005);
    assert_eq!(control.verdict, Verdict::NoDifferenceThatMatters);
    assert_eq!(verdicts(&judgement)[0], Verdict::Better);
}

#[test]
#[expect(
    clippy::cast_possible_truncation,
    reason = "nanoseconds of a made-up block"
)]
fn a_step_no_further_from_none_than_the_control_is_inconclusive() {
    // The control costs 4 % more, give or take 12 %: too unsteady to void the run, but further from
    // no effect than the steady 3.7 % of the step.
    let mut blocks = rounds(
        16,
        &[LADDER[0], LADDER[1], ("step-1", 19.25), ("step-2", 19.25)],
    );
    for control in blocks.iter_mut().filter(|block| block.arm == "control") {
        let wobble = 1.04 + (f64::from(control.round * 7 % 16) - 7.5) / 62.5;
        let cpu_ns = control.reading.cpu.server_ns.unwrap() as f64;
        control.reading.cpu.server_ns = Some((cpu_ns * wobble) as u64);
    }
    let judgement = judged(&blocks);
    let step = &judgement.steps[0];
    assert!(step.effect.unwrap().is_clear_of_none());
    assert_eq!(step.verdict, Verdict::Inconclusive);
}

#[test]
fn one_block_without_the_targets_cpu_time_makes_throughput_the_outcome() {
    let mut blocks = rounds(16, &LADDER);
    blocks[6].reading.cpu.server_ns = None;
    change(&mut blocks, "step-1", |block| {
        block.reading.answered = 60_000 + u64::from(block.round);
    });
    let judgement = judged(&blocks);
    assert_eq!(judgement.outcome, Outcome::Throughput);
    let step = &judgement.steps[0];
    assert_eq!(step.verdict, Verdict::Better);
    assert!(step.effect.unwrap().ratio > 1.19);
    assert_eq!(step.effect, step.throughput);
    assert_eq!(step.server_cpu.unwrap().n, 15);
}

#[test]
fn ten_pairs_cannot_clear_the_error_that_27_comparisons_leave_them() {
    // The chance that all ten pairs agree is 2/1024, and 0.05/27 is less than that.
    let costs: Vec<(String, f64)> = (1..=26)
        .map(|step| (format!("step-{step}"), 20.0 * 0.8_f64.powi(step)))
        .collect();
    let mut arms = vec![LADDER[0], LADDER[1]];
    arms.extend(costs.iter().map(|(name, cost)| (name.as_str(), *cost)));
    let judgement = judge(&ladder(26, 10), &rounds(10, &arms));
    assert!(judgement.steps[0].effect.unwrap().alpha > 0.05 / 27.0);
    assert!(
        verdicts(&judgement)
            .iter()
            .all(|v| *v == Verdict::Inconclusive)
    );
}
