//! Whole factorial runs in, judgements out.

#[path = "../built_commands/mod.rs"]
mod built_commands;

mod ceilings;
mod exact;
mod means;
mod surroundings;
mod together;
mod verdicts;
mod withheld;

use built_commands::block;
use judge::judge_commands;
use model::command_run::CommandBlock;
use model::judgement::FactorialJudgement;
use model::{CommandRun, Doubt};

/// A noise of ±0.5 % that differs between runs and repeats in every test.
fn noise(round: u32, position: u32) -> f64 {
    1.0 + f64::from((round * 31 + position * 17) % 23) / 2300.0 - 0.005
}

/// The blocks of a run in which each arm takes the time that `cost` gives it, in µs.
fn blocks(run: &CommandRun, cost: impl Fn(&str) -> f64) -> Vec<CommandBlock> {
    let rounds = 0..run.study.design.rounds;
    let round = |round| {
        let arms = (0_u32..).zip(&run.arms);
        let block = |(position, arm): (u32, &model::command_run::CommandArm)| {
            let name = match arm.against.as_deref() {
                Some(baseline) if arm.name == "control" => baseline,
                _ => &arm.name,
            };
            let time_ns = cost(name) * 1e3 * noise(round, position);
            block(round, position, &arm.name, time_ns)
        };
        arms.map(block).collect::<Vec<_>>()
    };
    rounds.flat_map(round).collect()
}

fn judged(run: &CommandRun, cost: impl Fn(&str) -> f64) -> FactorialJudgement {
    judge_commands(run, &blocks(run, cost))
}

fn has(judgement: &FactorialJudgement, is_kind: impl Fn(&Doubt) -> bool) -> bool {
    judgement.doubts.iter().any(is_kind)
}
