//! How the last state is compared between boots with a step and boots without it.

use judge::judge;
use model::judgement::BetweenBoots;
use model::ladder::Whole;
use model::reboot::{Boot, BootChange, MeasuredBoot, Reboot};
use model::rig::RigKind;
use model::run::Phase;
use model::{BlockRecord, Doubt, Facts, RunRecord, Verdict};

use super::built_run::{arm, ladder};
use super::rounds;

const ROUNDS: u32 = 16;

/// A ladder whose last state was measured in one boot per flag, with the step where it is `true`.
fn run(boots: &[bool]) -> RunRecord {
    let mut run = ladder(1, ROUNDS);
    run.study.whole = Some(Whole {
        rig: RigKind::Loopback,
        levers: Vec::new(),
        stand_ins: Vec::new(),
        confirm_rounds: ROUNDS,
        together: Vec::new(),
    });
    let arms = [
        arm("last", "last", None),
        arm("last-again", "control", Some("last")),
    ];
    let arms = arms.map(|arm| serde_json::from_value(arm).expect("an arm as it is saved"));
    run.reboot = Some(Reboot {
        step: "mitigations".to_owned(),
        option: "mitigations=off".to_owned(),
        change: BootChange::default(),
        first: Boot::default(),
        arms: arms.to_vec(),
        rounds: ROUNDS,
        boots: boots.iter().map(|has_step| measured(*has_step)).collect(),
    });
    run
}

fn measured(has_step: bool) -> MeasuredBoot {
    MeasuredBoot {
        boot: Boot::default(),
        has_step,
        facts: Facts::default(),
    }
}

/// Blocks of one boot per pair of costs: µs per request of the last state and of its control.
fn blocks(costs: &[(f64, f64)]) -> Vec<BlockRecord> {
    let boots = (0..).zip(costs);
    let of_boot = |(boot, (last, again)): (u32, &(f64, f64))| {
        let mut blocks = rounds(ROUNDS, &[("last", *last), ("last-again", *again)]);
        for block in &mut blocks {
            block.phase = Phase::Boot;
            block.round += boot * ROUNDS;
        }
        blocks
    };
    boots.flat_map(of_boot).collect()
}

fn judged(boots: &[(bool, f64)]) -> BetweenBoots {
    let (kinds, costs): (Vec<bool>, Vec<(f64, f64)>) =
        boots.iter().map(|(kind, us)| (*kind, (*us, *us))).unzip();
    between_boots(&run(&kinds), &blocks(&costs))
}

fn between_boots(run: &RunRecord, blocks: &[BlockRecord]) -> BetweenBoots {
    let ladder = judge(run, blocks).ladder.expect("a whole ladder");
    ladder.between_boots.expect("a step that takes a reboot")
}

#[test]
fn one_boot_of_each_gives_an_estimate_without_an_interval() {
    let found = judged(&[(false, 20.0), (true, 15.0)]);
    let estimate = found.estimate.unwrap();
    assert!((estimate.ratio - 0.75).abs() < 0.01, "{estimate:?}");
    assert_eq!((estimate.without, estimate.with), (1, 1));
    assert_eq!((estimate.same_arm_ratio, estimate.interval), (None, None));
    assert!(!found.waits);
}

#[test]
fn boots_of_one_arm_tell_how_far_boots_are_apart_by_themselves() {
    let found = judged(&[(false, 20.0), (true, 20.0), (false, 22.0), (true, 20.0)]);
    let apart = found.estimate.unwrap().same_arm_ratio.unwrap();
    assert!((apart - 1.1).abs() < 0.01, "{apart}");
}

#[test]
fn from_four_boots_of_each_on_there_is_an_interval_and_not_before() {
    let mut boots = Vec::new();
    for us in [20.0, 20.4, 19.8, 20.2] {
        boots.extend([(false, us), (true, us * 0.8)]);
    }
    let [low, high] = judged(&boots).estimate.unwrap().interval.unwrap();
    assert!(low < 0.8 && 0.8 < high && high < 0.85, "{low} … {high}");
    assert_eq!(judged(&boots[..7]).estimate.unwrap().interval, None);
}

#[test]
fn a_boot_that_is_not_measured_in_full_counts_for_nothing() {
    let whole = blocks(&[(20.0, 20.0), (15.0, 15.0)]);
    let found = between_boots(&run(&[false, true]), &whole[..whole.len() - 1]);
    assert_eq!(found.estimate, None);
    assert_eq!(found.boots[1].rounds_done, ROUNDS - 1);
    assert!(!found.waits, "the boot with the step has begun");
    assert!(judged(&[(false, 20.0)]).waits);
    let begun = between_boots(&run(&[false]), &blocks(&[(20.0, 20.0)])[..5]);
    assert!(!begun.waits, "there is more to measure without a reboot");
}

#[test]
fn drift_within_a_boot_is_that_of_the_last_state_against_itself() {
    let found = between_boots(&run(&[false, true]), &blocks(&[(20.0, 20.0), (20.0, 24.0)]));
    let verdicts = [0, 1].map(|boot| found.boots[boot].control.verdict);
    assert_eq!(
        verdicts,
        [Verdict::NoDifferenceThatMatters, Verdict::Invalid]
    );
    let drifted = found.boots.iter().map(|boot| boot.drifted);
    assert_eq!(drifted.collect::<Vec<_>>(), [false, true]);
    let drift = found.boots[1].control.effect.unwrap().ratio;
    assert!((drift - 1.2).abs() < 0.02, "{drift}");
}

#[test]
fn failures_of_the_last_states_control_in_a_boot_are_doubts_too() {
    let mut blocks = blocks(&[(20.0, 20.0)]);
    for block in blocks.iter_mut().filter(|block| block.arm == "last-again") {
        block.reading.answered = 0;
        block.reading.ledger.answered = 0;
        block.reading.ledger.errors.status = 100;
    }
    let doubts = judge(&run(&[false]), &blocks).doubts;
    let silent =
        |doubt: &Doubt| matches!(doubt, Doubt::AnsweredNothing { arm } if arm == "last-again");
    assert!(doubts.iter().any(silent), "{doubts:?}");
    let failed = |doubt: &Doubt| matches!(doubt, Doubt::RequestsFailed { failed_share } if *failed_share > 0.9);
    assert!(doubts.iter().any(failed), "{doubts:?}");
}

#[test]
fn a_run_that_asked_for_no_reboot_has_nothing_between_boots() {
    let mut run = run(&[]);
    run.reboot = None;
    assert_eq!(judge(&run, &[]).ladder.unwrap().between_boots, None);
}
