//! Which doubts a run raises.

use judge::judge;
use model::{BlockRecord, Doubt, Verdict};

use crate::built_run::{self, ladder};
use crate::{LADDER, change, has, judged, rounds, verdicts};

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
fn requests_cut_off_by_the_end_of_a_block_are_no_failures() {
    let mut blocks = rounds(16, &LADDER);
    change(&mut blocks, "step-2", |block| {
        block.reading.ledger.errors.unfinished = 200;
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
        Doubt::CpuPressure { waiting_percent } => (waiting_percent - 40.0).abs() < 1e-9,
        _ => false,
    }));
}

#[test]
fn blocks_that_were_thrown_away_are_counted() {
    let mut blocks = rounds(16, &LADDER);
    blocks[3].reading.cpu.missed_before = 1;
    blocks[7].reading.cpu.missed_before = 2;
    let counted = u32::try_from(blocks.len()).unwrap();
    let doubt = Doubt::BlocksMissed { missed: 3, counted };
    assert_eq!(judged(&blocks).doubts, [Doubt::OneMachine, doubt]);
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
#[expect(
    clippy::cast_possible_truncation,
    reason = "nanoseconds of a made-up block"
)]
fn pairs_too_noisy_for_the_effect_sought_say_what_they_could_see() {
    let mut blocks = rounds(16, &LADDER);
    for block in &mut blocks {
        let wobble = 1.0 + f64::from(block.round * (3 + 4 * block.position) % 16) / 40.0;
        let cpu_ns = block.reading.cpu.server_ns.unwrap() as f64;
        block.reading.cpu.server_ns = Some((cpu_ns * wobble) as u64);
    }
    let judgement = judged(&blocks);
    let smallest_visible = judgement.smallest_visible.unwrap();
    let expected = Doubt::BlindToEffect {
        smallest_visible,
        sought: 0.03,
    };
    assert!(smallest_visible > 0.05 && has(&judgement, |doubt| *doubt == expected));
}

#[test]
fn an_arm_without_an_answer_in_half_of_its_blocks_is_named() {
    let mut blocks = rounds(16, &LADDER);
    let silence = |blocks: &mut [BlockRecord], from: u32| {
        change(blocks, "step-2", |block| {
            if block.round >= from {
                block.reading.answered = 0;
            }
        });
    };
    let is_silent =
        |doubt: &Doubt| matches!(doubt, Doubt::AnsweredNothing { arm } if arm == "step-2");
    silence(&mut blocks, 9);
    assert!(!has(&judged(&blocks), is_silent));
    silence(&mut blocks, 8);
    assert!(has(&judged(&blocks), is_silent));
}

#[test]
fn the_bare_echo_may_have_the_client_as_its_limit() {
    let floor = built_run::arm("floor", "floor", None);
    let baseline = built_run::arm("baseline", "baseline", None);
    let run = built_run::with_arms(&[baseline, floor], 16);
    let mut blocks = rounds(16, &[("baseline", 20.0), ("floor", 10.0)]);
    let limit = |block: &mut BlockRecord| {
        let doubt = Doubt::ClientIsLimit { busy_share: 0.99 };
        block.reading.doubts.push(doubt);
    };
    change(&mut blocks, "floor", limit);
    assert_eq!(judge(&run, &blocks).doubts, [Doubt::OneMachine]);
    change(&mut blocks, "baseline", limit);
    assert_eq!(judge(&run, &blocks).doubts.len(), 2);
}

#[test]
fn failed_requests_are_counted_over_all_blocks_and_not_taken_from_the_worst() {
    let mut blocks = rounds(16, &LADDER);
    change(&mut blocks, "step-1", |block| {
        let doubt = Doubt::RequestsFailed { failed_share: 0.5 };
        block.reading.doubts.push(doubt);
    });
    assert_eq!(judged(&blocks).doubts, [Doubt::OneMachine]);
}

#[test]
fn a_server_of_the_users_elsewhere_is_not_on_this_machine() {
    let mut elsewhere = built_run::arm("baseline", "baseline", None);
    elsewhere["program"] = serde_json::json!({ "url": "http://192.0.2.7/" });
    let run = built_run::with_arms(&[elsewhere], 16);
    let mut blocks = rounds(16, &LADDER[..1]);
    assert_eq!(judge(&run, &blocks).doubts, [Doubt::OneMachine]);
    change(&mut blocks, "baseline", |block| {
        block.reading.cpu.server_ns = None;
    });
    assert_eq!(judge(&run, &blocks).doubts, []);
}
