//! How often a gate is wrong where builds of one commit differ, however much is measured of each.
//!
//! Every figure comes from a fixed seed. They are printed: `cargo test --release -p judge --test gate_simulation --
//! --nocapture`.

#[expect(dead_code, reason = "other tests use the rest of it")]
mod built_run;
#[expect(dead_code, reason = "other tests use the rest of it")]
mod noise;

use judge::{judge, settled_rounds};
use model::gate::{GateDesign, Passage, Unit, Untold};
use model::{BlockRecord, Doubt, RunRecord};
use noise::Random;

const RUNS: u32 = 600;
/// Enough for up to three looks.
const ROUNDS: u32 = 36;
const BAR: f64 = 0.03;

/// How many gates of [`RUNS`] found the second commit slower, and how many passed it.
#[derive(Debug, Default)]
struct Passages {
    slower: u32,
    passed: u32,
}

/// Judges [`RUNS`] gates on two commits, of which the second costs `times` the first. The layout of
/// each build adds an error to the logarithm of the cost, and so does each block: their standard
/// deviations are `of_builds` and `of_blocks`.
fn gates(times: f64, (of_builds, of_blocks): (f64, f64), builds: u32) -> Passages {
    let run = gate(builds);
    let mut random = Random::seeded(7);
    let mut tally = Passages::default();
    for _ in 0..RUNS {
        let blocks = blocks(times, (of_builds, of_blocks), builds, &mut random);
        let rounds = settled_rounds(&run, &blocks).unwrap_or(ROUNDS);
        let measured = &blocks[..rounds as usize * 3];
        let passage = judge(&run, measured).gate.map(|gate| gate.passage);
        tally.slower += u32::from(passage == Some(Passage::Slower));
        tally.passed += u32::from(passage == Some(Passage::Passes));
    }
    tally
}

fn gate(builds: u32) -> RunRecord {
    let arms = [
        built_run::arm("base", "baseline", None),
        built_run::arm("same", "control", Some("base")),
        built_run::arm("head", "step", Some("base")),
    ];
    let mut run = built_run::with_arms(&arms, ROUNDS);
    run.study.design.looks = judge::looks::planned(ROUNDS);
    run.study.gate = Some(GateDesign {
        bar: BAR,
        unit: Unit::Request,
        most_ms: 0,
        builds,
    });
    run
}

fn blocks(
    times: f64,
    (of_builds, of_blocks): (f64, f64),
    builds: u32,
    random: &mut Random,
) -> Vec<BlockRecord> {
    let arms = [("base", 1.0), ("same", 1.0), ("head", times)];
    let layouts: Vec<f64> = (0..3 * builds)
        .map(|_| of_builds * random.normal())
        .collect();
    let mut blocks = Vec::new();
    for round in 0..ROUNDS {
        // Noise that all blocks of a round share.
        let shared = 0.1 * random.normal();
        for (position, (arm, cost)) in (0..).zip(arms) {
            let layout = layouts[(position * builds + round % builds) as usize];
            let log = shared + layout + of_blocks * random.normal();
            blocks.push(built_run::block(
                round,
                position,
                arm,
                10.0 * cost * log.exp(),
            ));
        }
    }
    blocks
}

/// At most a twentieth of the gates may be wrong.
const MOST_WRONG: u32 = RUNS / 20;

#[test]
fn builds_that_lie_apart_make_a_gate_claim_what_is_not_so_in_at_most_five_percent() {
    for builds in [2, 4] {
        for of_builds in [0.0, 0.005, 0.02] {
            let apart = (of_builds, 0.01);
            let same = gates(1.0, apart, builds);
            assert!(same.slower <= MOST_WRONG, "{same:?}");
            // At the bar every answer but "cannot tell" is wrong.
            let at_bar = gates(1.0 + BAR, apart, builds);
            println!("{builds} sets that lie {of_builds} apart: {same:?}; at the bar {at_bar:?}");
            assert!(at_bar.slower <= MOST_WRONG, "{at_bar:?}");
            assert!(at_bar.passed <= MOST_WRONG, "{at_bar:?}");
        }
    }
}

#[test]
fn builds_that_lie_little_apart_leave_five_percent_to_be_found() {
    let planted = gates(1.05, (0.001, 0.01), 2);
    assert!(planted.slower >= RUNS / 20 * 19, "{planted:?}");
    let same = gates(1.0, (0.001, 0.01), 2);
    println!("5 % planted {planted:?}; alike {same:?}");
    assert!(same.passed >= RUNS / 20 * 19, "{same:?}");
}

#[test]
fn a_gate_that_may_not_tell_says_why_although_its_interval_lies_beyond_the_bar() {
    let run = gate(2);
    let changed = |change: &dyn Fn(&mut BlockRecord)| {
        let mut blocks = blocks(1.5, (0.0, 0.001), 2, &mut Random::seeded(7));
        blocks.iter_mut().for_each(change);
        blocks
    };
    let untold = |blocks: &[BlockRecord]| judge(&run, blocks).gate.and_then(|gate| gate.untold);
    let all = changed(&|_| ());
    assert_eq!(untold(&all), None);
    let few = Untold::FewRounds {
        rounds: 8,
        needed: 10,
    };
    assert_eq!(untold(&all[..8 * 3]), Some(few));
    let lost = changed(&|block| {
        if block.arm == "same" && block.round % 2 == 0 {
            block.reading.answered = 0;
        }
    });
    let few = Untold::FewRounds {
        rounds: 18,
        needed: 27,
    };
    assert_eq!(untold(&lost), Some(few));
    let silent = changed(&|block| block.reading.answered = 0);
    assert_eq!(untold(&silent), Some(Untold::NothingMeasured));
    let failing = changed(&|block| {
        if block.arm == "head" {
            block.reading.ledger.errors.status = 1_000;
        }
    });
    let failures = untold(&failing);
    assert!(
        matches!(failures, Some(Untold::Failures { base_share: 0.0, head_share }) if head_share > 0.01),
        "{failures:?}"
    );
    let hidden = changed(&|block| {
        block.reading.cpu.server_ns = None;
        let busy_share = 1.0;
        block.reading.doubts = vec![Doubt::ClientIsLimit { busy_share }];
    });
    assert_eq!(untold(&hidden), Some(Untold::ClientIsLimit));
}
