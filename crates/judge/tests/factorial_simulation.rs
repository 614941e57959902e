//! How often verdicts on factorial runs are wrong, on noise as shared machines make it.
//!
//! Every figure comes from a fixed seed. They are printed: `cargo test --release -p judge
//! --test factorial_simulation -- --nocapture`.

mod built_commands;
mod noise;

use built_commands::{Questions, block, run};
use judge::judge_commands;
use model::command_run::CommandBlock;
use model::judgement::{FactorialJudgement, Together};
use model::{CommandRun, Effect, Verdict};
use noise::{HARSH, MILD, Noise, Random};

const RUNS: u32 = 600;
const ROUNDS: u32 = 16;

/// Two settings on three benchmarks, with everything asked that can be.
fn study() -> CommandRun {
    let asked = Questions {
        interaction: Some(["cache", "watcher"]),
        mean_over: Some("benchmark"),
        ..Questions::comparing("watcher")
    };
    let factors = [
        ("benchmark", &["one", "two", "three"][..]),
        ("cache", &["off", "on"][..]),
        ("watcher", &["off", "on"][..]),
    ];
    run(&factors, asked, ROUNDS)
}

/// A run in which each arm costs `log_cost` on the log scale, in random order within each round.
fn simulated(
    study: &CommandRun,
    noise: Noise,
    log_cost: impl Fn(&str) -> f64,
    random: &mut Random,
) -> FactorialJudgement {
    let mut arms: Vec<&str> = study.arms.iter().map(|arm| arm.name.as_str()).collect();
    let series = noise.series(ROUNDS as usize * arms.len(), random);
    let mut blocks: Vec<CommandBlock> = Vec::with_capacity(series.len());
    for (round, logs) in (0_u32..).zip(series.chunks_exact(arms.len())) {
        random.shuffle(&mut arms);
        for ((position, log), arm) in (0_u32..).zip(logs).zip(&arms) {
            let cost = if *arm == "control" {
                0.0
            } else {
                log_cost(arm)
            };
            blocks.push(block(round, position, arm, 1e6 * (log + cost).exp()));
        }
    }
    judge_commands(study, &blocks)
}

fn judge_many(noise: Noise, log_cost: impl Fn(&str) -> f64, seed: u64) -> Vec<FactorialJudgement> {
    let (study, mut random) = (study(), Random::seeded(seed));
    let judgements = (0..RUNS).map(|_| simulated(&study, noise, &log_cost, &mut random));
    judgements.collect()
}

/// Share of the judgements for which something holds.
fn share(judgements: &[FactorialJudgement], holds: impl Fn(&FactorialJudgement) -> bool) -> f64 {
    let holding = judgements.iter().filter(|judgement| holds(judgement));
    holding.count() as f64 / judgements.len() as f64
}

fn is_call(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Better | Verdict::Worse)
}

fn any_call(judgement: &FactorialJudgement) -> bool {
    let pairs = judgement.contrasts.iter().map(|found| found.verdict);
    let means = judgement.means.iter().map(|found| found.verdict);
    let together = judgement.interactions.iter().flat_map(|found| {
        let [first, second] = found.square.alone;
        [first, second, found.square.both, found.square.interaction].map(|judged| judged.verdict)
    });
    pairs.chain(means).chain(together).any(is_call)
}

#[test]
fn a_study_of_identical_arms_gets_any_verdict_in_at_most_five_percent_of_cases() {
    for (title, noise) in [("CV 44 %", HARSH), ("CV 17 %", MILD)] {
        let judgements = judge_many(noise, |_| 0.0, 11);
        let called = share(&judgements, any_call);
        println!(
            "17 contrasts of identical arms, {title}: any verdict {:.1} %",
            called * 100.0
        );
        assert!(called <= 0.05, "{title}: {called}");
    }
}

/// Noise of commands on a quiet machine: 3 % between neighbours, and now and then an episode.
const QUIET: Noise = Noise {
    phi: 0.71,
    sigma: 0.03,
    episode_starts: 0.005,
};

/// The cache saves 30 %, the watcher 20 %; each on top of the other too.
fn independent(arm: &str) -> f64 {
    let [_, cache, watcher] = levels(arm);
    let saved = |level: &str, share: f64| {
        if level == "on" {
            (1.0 - share).ln()
        } else {
            0.0
        }
    };
    saved(cache, 0.3) + saved(watcher, 0.2)
}

fn levels(arm: &str) -> [&str; 3] {
    let mut parts = arm.split('.');
    [(); 3].map(|()| parts.next().expect("an arm is named by its three levels"))
}

#[test]
fn gains_that_multiply_are_seldom_told_to_depend_on_one_another() {
    let judgements = judge_many(QUIET, independent, 12);
    let dependent = |together: Together| {
        matches!(
            together,
            Together::OnlyTogether | Together::MoreTogether | Together::LessTogether
        )
    };
    let told = share(&judgements, |judgement| {
        judgement
            .interactions
            .iter()
            .any(|found| dependent(found.square.together))
    });
    println!(
        "three pairs of independent gains: told to depend {:.1} %",
        told * 100.0
    );
    assert!(told <= 0.05, "{told}");
}

#[test]
fn two_settings_that_pay_more_together_are_found_on_a_quiet_machine() {
    let paying = |arm: &str| match levels(arm) {
        [_, "on", "on"] => 0.2_f64.ln(),
        _ => 0.0,
    };
    let judgements = judge_many(QUIET, paying, 13);
    let more = |found: Together| matches!(found, Together::OnlyTogether | Together::MoreTogether);
    let found = share(&judgements, |judgement| {
        judgement
            .interactions
            .iter()
            .all(|found| more(found.square.together))
    });
    println!(
        "a fivefold gain of both alone, three times: all found {:.1} %",
        found * 100.0
    );
    assert!(found >= 0.95, "{found}");
}

#[test]
fn intervals_of_means_and_interactions_hold_the_truth_as_often_as_they_promise() {
    let noises = [HARSH, MILD, QUIET];
    let judgements: Vec<FactorialJudgement> = noises
        .into_iter()
        .flat_map(|noise| judge_many(noise, independent, 14))
        .collect();
    let means = judgements.iter().flat_map(|judgement| &judgement.means);
    let means = means.filter_map(|mean| mean.effect);
    let interactions = judgements
        .iter()
        .flat_map(|judgement| &judgement.interactions);
    let interactions = interactions.filter_map(|found| found.square.interaction.effect);
    for (title, (missed, allowed)) in [
        ("means", misses(means, 0.8)),
        ("interactions", misses(interactions, 1.0)),
    ] {
        println!("{title}: {missed:.0} intervals miss the truth where {allowed:.0} may");
        assert!(
            missed <= allowed + 2.0 * allowed.sqrt(),
            "{title}: {missed} of {allowed}"
        );
    }
}

/// How many intervals miss the truth, and how many may at the errors that they were given.
fn misses(effects: impl Iterator<Item = Effect>, truth: f64) -> (f64, f64) {
    effects.fold((0.0, 0.0), |(missed, allowed), effect| {
        let holds = (effect.low..=effect.high).contains(&truth);
        (missed + f64::from(u8::from(!holds)), allowed + effect.alpha)
    })
}
