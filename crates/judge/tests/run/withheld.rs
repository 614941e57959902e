//! When verdicts are withheld although the figures are given.

use model::{BlockRecord, Doubt, Verdict};

use crate::{LADDER, change, has, judged, rounds, verdicts};

#[test]
fn a_control_that_costs_six_percent_more_voids_every_verdict_and_keeps_the_figures() {
    let mut costs = LADDER;
    costs[1].1 = 21.2;
    let judgement = judged(&rounds(16, &costs));
    assert_eq!(verdicts(&judgement), [Verdict::Invalid; 3]);
    assert_eq!(
        judgement.control.as_ref().unwrap().verdict,
        Verdict::Invalid
    );
    assert!(judgement.steps[0].effect.is_some());
    assert!(matches!(judgement.doubts[0], Doubt::ControlDiffers { ratio, .. } if ratio > 1.05));
}

#[test]
fn a_control_of_which_too_little_is_left_voids_every_verdict() {
    let mut blocks = rounds(16, &LADDER);
    let lost = |block: &&mut BlockRecord| block.arm == "control" && block.round > 0;
    blocks
        .iter_mut()
        .filter(lost)
        .for_each(|block| block.reading.answered = 0);
    let judgement = judged(&blocks);
    assert_eq!(verdicts(&judgement), [Verdict::Invalid; 3]);
    assert!(judgement.steps[0].effect.is_some());
}

#[test]
fn nine_rounds_give_figures_and_no_verdict_and_say_why() {
    let judgement = judged(&rounds(9, &LADDER));
    assert_eq!(verdicts(&judgement), [Verdict::Invalid; 3]);
    assert!(judgement.arms[0].server_cpu_us_per_request.is_some());
    let expected = [
        Doubt::TooFewPairs {
            pairs: 9,
            needed: 10,
        },
        Doubt::Unfinished {
            rounds_done: 9,
            rounds_planned: 16,
        },
        Doubt::OneMachine,
    ];
    assert_eq!(judgement.doubts, expected);
}

#[test]
fn losing_more_than_a_quarter_of_the_pairs_leaves_a_step_without_a_verdict() {
    let mut blocks = rounds(16, &LADDER);
    let lost = |block: &&mut BlockRecord| block.arm == "step-2" && block.round < 5;
    blocks
        .iter_mut()
        .filter(lost)
        .for_each(|block| block.reading.answered = 0);
    let judgement = judged(&blocks);
    assert_eq!(
        verdicts(&judgement),
        [Verdict::Better, Verdict::Invalid, Verdict::Invalid]
    );
    assert!(has(&judgement, |d| *d
        == Doubt::TooFewPairs {
            pairs: 11,
            needed: 12
        }));
}

#[test]
fn a_client_at_its_limit_voids_throughput_verdicts_and_not_those_on_cpu() {
    let mut blocks = rounds(16, &LADDER);
    let limit = Doubt::ClientIsLimit { busy_share: 0.97 };
    let doubtful = |block: &&mut BlockRecord| block.arm == "step-2" && block.round < 2;
    for block in blocks.iter_mut().filter(doubtful) {
        block.reading.doubts.push(limit.clone());
    }
    let on_cpu = judged(&blocks);
    assert!(has(&on_cpu, |doubt| *doubt == limit));
    assert_eq!(verdicts(&on_cpu)[0], Verdict::Better);
    assert_ne!(verdicts(&on_cpu)[1], Verdict::Invalid);
    for block in &mut blocks {
        block.reading.cpu.server_ns = None;
    }
    let on_throughput = verdicts(&judged(&blocks));
    assert_ne!(on_throughput[0], Verdict::Invalid);
    assert_eq!(on_throughput[1..], [Verdict::Invalid; 2]);
}

#[test]
fn arms_that_fail_differently_are_not_compared() {
    let mut blocks = rounds(16, &LADDER);
    change(&mut blocks, "step-2", |block| {
        block.reading.ledger.errors.timeout = 200;
    });
    let judgement = judged(&blocks);
    assert_eq!(
        verdicts(&judgement),
        [Verdict::Better, Verdict::Invalid, Verdict::Invalid]
    );
    assert!(has(&judgement, |doubt| match doubt {
        Doubt::RequestsFailed { failed_share } => (failed_share - 200.0 / 50_200.0).abs() < 1e-12,
        _ => false,
    }));
}
