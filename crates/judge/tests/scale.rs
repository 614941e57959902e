//! What further workers bring, tested on made-up servers whose lock and crosstalk are known.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures that the test itself makes up"
)]

mod built_run;
#[expect(
    dead_code,
    reason = "the noise of blocks that follow one another is for other tests"
)]
mod noise;

use built_run::{arm, block, with_arms};
use judge::sweep::Usl;
use model::judgement::{PeakSeen, Scale};
use model::{BlockRecord, Doubt, RunRecord};
use noise::Random;
use serde_json::json;

/// A lock that is held for 4 % of the work, and crosstalk that ends all gain at 34 workers.
const LOCKED: Usl = Usl {
    lambda_rps: 80_000.0,
    sigma: 0.04,
    kappa: 8e-4,
};
const WORKERS: [u32; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
const ROUNDS: u32 = 16;

fn run() -> RunRecord {
    let mut arms = vec![
        arm("baseline", "baseline", None),
        arm("control", "control", Some("baseline")),
    ];
    arms.extend(WORKERS[1..].iter().map(|workers| {
        let mut step = arm(&format!("workers-{workers}"), "step", Some("baseline"));
        step["workers"] = json!(workers);
        step
    }));
    with_arms(&arms, ROUNDS)
}

/// Blocks of all rounds. Each round is a little fast or slow as a whole, and so is each block.
fn blocks(law: Usl, run: &RunRecord, random: &mut Random) -> Vec<BlockRecord> {
    const NOISE: f64 = 0.01;
    let mut blocks = Vec::new();
    for round in 0..ROUNDS {
        let of_round = NOISE * random.normal();
        for (position, arm) in (0..).zip(&run.arms) {
            let workers = f64::from(arm.workers.unwrap_or(1));
            let rate = law.throughput_rps(workers) * (of_round + NOISE * random.normal()).exp();
            let cpu_us = 1e6 * workers / rate;
            let mut block = block(round, position, &arm.name, cpu_us);
            block.reading.answered = (rate / 2.0).round() as u64;
            blocks.push(block);
        }
    }
    blocks
}

fn scaled(law: Usl, random: &mut Random) -> Scale {
    let run = run();
    judge::judge(&run, &blocks(law, &run, random))
        .scale
        .unwrap()
}

#[test]
fn a_planted_lock_and_crosstalk_are_found_within_a_tenth_in_95_of_100_runs() {
    let mut random = Random::seeded(4);
    let mut near = 0;
    for _ in 0..100 {
        let usl = scaled(LOCKED, &mut random).usl.unwrap();
        let is_near = |found: f64, truth: f64| (found / truth - 1.0).abs() <= 0.1;
        let both = [(usl.sigma, LOCKED.sigma), (usl.kappa, LOCKED.kappa)];
        near += u32::from(
            both.iter()
                .all(|(found, truth)| is_near(found.value, *truth)),
        );
    }
    println!("of 100: {near} within a tenth");
    assert!(near >= 95, "{near}");
}

#[test]
fn a_server_without_either_is_linear_and_has_no_peak() {
    let law = Usl {
        sigma: 0.0,
        kappa: 0.0,
        ..LOCKED
    };
    let found = scaled(law, &mut Random::seeded(5));
    let last = found.levels.last().unwrap();
    let share = last.share_of_linear.unwrap();
    assert!(
        (share.value - 1.0).abs() < 0.02 && share.low < 1.01 && share.high > 0.99,
        "{share:?}"
    );
    assert_eq!(last.workers, 64);
    assert_ne!(found.usl.unwrap().peak, PeakSeen::Within);
}

#[test]
fn numbers_of_workers_at_which_the_client_was_the_limit_are_left_out_of_the_law() {
    let run = run();
    let mut blocks = blocks(LOCKED, &run, &mut Random::seeded(6));
    for block in &mut blocks {
        if ["workers-48", "workers-64"].contains(&block.arm.as_str()) {
            block.reading.answered = 50_000;
            block.reading.doubts = vec![Doubt::ClientIsLimit { busy_share: 0.99 }];
        }
    }
    let scale = judge::judge(&run, &blocks).scale.unwrap();
    assert!(scale.levels.last().unwrap().client_is_limit);
    let sigma = scale.usl.unwrap().sigma;
    assert!((sigma.value / LOCKED.sigma - 1.0).abs() < 0.2, "{sigma:?}");
}

#[test]
fn numbers_of_workers_that_were_never_measured_are_left_out_of_the_law_and_no_limit_of_the_client()
{
    let run = run();
    let mut blocks = blocks(LOCKED, &run, &mut Random::seeded(7));
    blocks.retain(|block| block.arm != "workers-64");
    let scale = judge::judge(&run, &blocks).scale.unwrap();
    let last = scale.levels.last().unwrap();
    assert!(
        !last.client_is_limit && last.throughput_rps.is_none(),
        "{last:?}"
    );
    assert!(scale.usl.is_some());
}

#[test]
fn arms_that_differ_in_more_than_workers_have_no_scale() {
    let ladder = built_run::ladder(2, 4);
    assert!(judge::judge(&ladder, &[]).scale.is_none());
}
