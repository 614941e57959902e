//! Whole runs in, judgements out: verdicts, and the reasons for which they are withheld.

mod built_run;

use built_run::{block, ladder};
use judge::judge;
use model::judgement::Outcome;
use model::{BlockRecord, Doubt, Judgement, RunRecord, Verdict};

/// A little noise that differs between blocks and repeats in every test.
fn noise(round: u32, position: u32) -> f64 {
    1.0 + f64::from((round * 31 + position * 17) % 23) / 2300.0 - 0.005
}

/// Sixteen rounds of a ladder in which each arm costs its µs per request, a noise of ±0.5 % added.
fn rounds(count: u32, costs: &[(&str, f64)]) -> Vec<BlockRecord> {
    (0..count)
        .flat_map(|round| {
            (0_u32..).zip(costs).map(move |(position, (arm, cost))| {
                block(round, position, arm, cost * noise(round, position))
            })
        })
        .collect()
}

const LADDER: [(&str, f64); 4] = [
    ("baseline", 20.0),
    ("control", 20.0),
    ("step-1", 16.0),
    ("step-2", 16.0),
];

fn judged(blocks: &[BlockRecord]) -> Judgement {
    judge(&ladder(2, 16), blocks)
}

fn verdicts(judgement: &Judgement) -> Vec<Verdict> {
    let whole = judgement.whole.iter();
    judgement
        .steps
        .iter()
        .chain(whole)
        .map(|step| step.verdict)
        .collect()
}

fn change(blocks: &mut [BlockRecord], arm: &str, change: impl Fn(&mut BlockRecord)) {
    blocks.iter_mut().filter(|b| b.arm == arm).for_each(change);
}

fn has(judgement: &Judgement, is_kind: impl Fn(&Doubt) -> bool) -> bool {
    judgement.doubts.iter().any(is_kind)
}

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
fn a_step_no_further_from_none_than_the_control_is_inconclusive() {
    // The control wobbles by up to 12 % either way; so its interval has ends beyond a
    // steady 3.7 %.
    let mut blocks = rounds(
        16,
        &[LADDER[0], LADDER[1], ("step-1", 19.25), ("step-2", 19.25)],
    );
    for control in blocks.iter_mut().filter(|block| block.arm == "control") {
        let wobble = 1.0 + (f64::from(control.round * 7 % 16) - 7.5) / 62.5;
        let cpu_ns = control.reading.cpu.server_ns.unwrap() as f64;
        control.reading.cpu.server_ns = Some((cpu_ns * wobble) as u64);
    }
    let judgement = judged(&blocks);
    let step = &judgement.steps[0];
    assert!(step.effect.unwrap().is_clear_of_none());
    assert_eq!(step.verdict, Verdict::Inconclusive);
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
fn a_round_cut_off_before_an_arm_gives_no_pair_for_it() {
    let mut blocks = rounds(16, &LADDER);
    blocks.pop();
    let judgement = judged(&blocks);
    let pairs = |step: usize| judgement.steps[step].effect.unwrap().n;
    assert_eq!((pairs(0), pairs(1), judgement.rounds_done), (16, 15, 15));
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
    blocks
        .iter_mut()
        .for_each(|block| block.reading.cpu.server_ns = None);
    let on_throughput = verdicts(&judged(&blocks));
    assert_ne!(on_throughput[0], Verdict::Invalid);
    assert_eq!(on_throughput[1..], [Verdict::Invalid; 2]);
}

#[test]
fn one_doubtful_block_in_sixteen_is_no_doubt_about_the_arm() {
    let mut blocks = rounds(16, &LADDER);
    blocks[2]
        .reading
        .doubts
        .push(Doubt::ClientIsLimit { busy_share: 0.97 });
    assert_eq!(judged(&blocks).doubts, [Doubt::OneMachine]);
}

#[test]
fn arms_that_fail_differently_are_not_compared() {
    let mut blocks = rounds(16, &LADDER);
    change(&mut blocks, "step-2", |block| {
        block.reading.ledger.errors.timeout = 200
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

#[test]
fn requests_cut_off_by_the_end_of_a_block_are_no_failures() {
    let mut blocks = rounds(16, &LADDER);
    change(&mut blocks, "step-2", |block| {
        block.reading.ledger.errors.unfinished = 200
    });
    assert_eq!(judged(&blocks).doubts, [Doubt::OneMachine]);
}

#[test]
fn foreign_work_and_pressure_are_doubts_when_they_are_high_on_average() {
    let mut blocks = rounds(16, &LADDER);
    for block in &mut blocks {
        block.reading.cpu.foreign_ns = Some(150_000_000);
        block.reading.cpu.psi_some_share = Some(0.4);
    }
    let judgement = judged(&blocks);
    assert!(has(&judgement, |doubt| match doubt {
        Doubt::ForeignWork { cpu_share } => (cpu_share - 0.15).abs() < 1e-9,
        _ => false,
    }));
    assert!(has(&judgement, |doubt| match doubt {
        Doubt::CpuPressure { psi_some_avg10 } => (psi_some_avg10 - 40.0).abs() < 1e-9,
        _ => false,
    }));
}

#[test]
fn a_baseline_that_grows_dearer_during_the_run_says_that_the_machine_shifted() {
    let mut blocks = rounds(16, &LADDER);
    for block in blocks.iter_mut().filter(|block| block.round >= 8) {
        block.reading.cpu.server_ns = block.reading.cpu.server_ns.map(|ns| ns * 11 / 10);
    }
    let judgement = judged(&blocks);
    assert!(has(&judgement, |doubt| match doubt {
        Doubt::MachineShifted { share } => (share - 0.1).abs() < 0.02,
        _ => false,
    }));
    assert_eq!(verdicts(&judgement)[0], Verdict::Better);
}

#[test]
fn a_measured_blindness_takes_the_place_of_the_forecast() {
    let mut run = ladder(2, 16);
    run.doubts.push(Doubt::BlindToEffect {
        smallest_visible: 0.2,
        sought: 0.03,
    });
    let is_blind = |doubt: &Doubt| matches!(doubt, Doubt::BlindToEffect { .. });
    assert!(!has(&judge(&run, &rounds(16, &LADDER)), is_blind));
    assert!(has(&judge(&run, &[]), is_blind));
}

#[test]
fn arms_have_medians_an_implied_rate_and_their_share_of_the_floor() {
    let floor = built_run::arm("floor", "floor", None);
    let baseline = built_run::arm("baseline", "baseline", None);
    let run = built_run::with_arms(&[baseline, floor], 16);
    let judgement = judge(&run, &rounds(16, &[("baseline", 20.0), ("floor", 10.0)]));
    let [arm, echo] = judgement.arms.try_into().unwrap();
    let cpu = arm.server_cpu_us_per_request.unwrap();
    assert!((cpu.value - 20.0).abs() < 0.1 && cpu.low < cpu.value && cpu.value < cpu.high);
    let implied = arm.implied_rps_per_cpu.unwrap();
    assert!((implied.value - 50_000.0).abs() < 250.0);
    assert!(implied.low < implied.value && implied.value < implied.high);
    assert!((arm.share_of_floor.unwrap().value - 0.5).abs() < 0.01);
    assert_eq!(echo.share_of_floor, None);
    assert_eq!(arm.throughput_rps.unwrap().value, 100_000.0);
}

#[test]
fn identical_blocks_are_judged_as_a_sequential_comparison_in_the_order_they_were_measured() {
    let sequential = judged(&rounds(16, &LADDER)).sequential.unwrap();
    assert_eq!((sequential.n, sequential.windows), (10, 13));
    let mut blocks = rounds(16, &LADDER);
    for block in &mut blocks {
        let drift = 100 + u64::from(block.round);
        block.reading.cpu.server_ns = block.reading.cpu.server_ns.map(|ns| ns * drift / 100);
    }
    blocks.reverse();
    let drifting = judged(&blocks).sequential.unwrap();
    assert_eq!(drifting.declared, drifting.windows);
}

#[test]
fn a_run_without_blocks_is_judged_without_figures() {
    let judgement = judged(&[]);
    assert_eq!(verdicts(&judgement), [Verdict::Invalid; 3]);
    assert!(judgement.steps.iter().all(|step| step.effect.is_none()));
    assert_eq!(
        (judgement.rounds_done, judgement.smallest_visible),
        (0, None)
    );
}

#[test]
fn a_judgement_survives_being_written_as_json() {
    for count in [0, 1, 2, 9, 16] {
        let run: RunRecord = ladder(2, 16);
        let judgement = judge(&run, &rounds(count, &LADDER));
        let text = serde_json::to_string(&judgement).unwrap();
        let back: Judgement = serde_json::from_str(&text).unwrap();
        assert_eq!(back.steps.len(), judgement.steps.len(), "{count} rounds");
    }
}
