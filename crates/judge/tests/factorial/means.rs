//! Geometric means over the levels of a factor.

use judge::judge_commands;
use model::command::CommandEnd;
use model::{CommandRun, Verdict};

use crate::built_commands::{Factor, Questions, run};
use crate::{blocks, judged};

const BENCHMARKS: Factor = ("benchmark", &["one", "two", "three"]);
const VERSIONS: Factor = ("python", &["old", "new"]);

fn averaged() -> CommandRun {
    let asked = Questions {
        mean_over: Some("benchmark"),
        ..Questions::comparing("python")
    };
    run(&[BENCHMARKS, VERSIONS], asked, 16)
}

/// The new version takes a half, four fifths and five quarters: on the geometric mean ∛0.5.
fn cost(arm: &str) -> f64 {
    match arm {
        "one.new" => 10.0,
        "two.new" => 16.0,
        "three.new" => 25.0,
        _ => 20.0,
    }
}

#[test]
fn a_mean_is_geometric_has_an_interval_and_hides_no_regression() {
    let judgement = judged(&averaged(), cost);
    let [mean] = judgement.means.as_slice() else {
        panic!("{:?}", judgement.means);
    };
    let effect = mean.effect.unwrap();
    assert!((effect.ratio - 0.5_f64.cbrt()).abs() < 0.01, "{effect:?}");
    assert!(effect.low < effect.ratio && effect.ratio < effect.high);
    assert_eq!((mean.verdict, effect.n), (Verdict::Better, 16));
    assert_eq!(mean.of, ["one", "two", "three"]);
    assert_eq!(judgement.contrasts[2].verdict, Verdict::Worse);
    // Three benchmarks and their mean are one family.
    let worst = judgement
        .contrasts
        .iter()
        .filter_map(|found| found.change.effect());
    let least = worst
        .map(|effect| effect.alpha)
        .fold(effect.alpha, f64::min);
    assert_eq!(least, 0.05 / 4.0);
}

#[test]
fn a_benchmark_that_fails_with_one_version_is_left_out_of_the_mean_and_named() {
    let run = averaged();
    let mut blocks = blocks(&run, cost);
    for block in blocks.iter_mut().filter(|block| block.arm == "one.new") {
        block.reading.command.end = CommandEnd::Exited(1);
    }
    let judgement = judge_commands(&run, &blocks);
    let mean = &judgement.means[0];
    assert_eq!(mean.of, ["two", "three"]);
    assert_eq!(mean.without, ["one"]);
    assert!((mean.effect.unwrap().ratio - 1.0).abs() < 0.01);
    assert_eq!(judgement.contrasts[0].verdict, Verdict::Invalid);
    assert_eq!(judgement.contrasts[2].verdict, Verdict::Worse);
}

#[test]
fn a_round_that_lacks_one_benchmark_is_no_round_of_the_mean() {
    let run = averaged();
    let mut blocks = blocks(&run, cost);
    blocks.retain(|block| block.arm != "two.old" || block.round > 1);
    let judgement = judge_commands(&run, &blocks);
    assert_eq!(judgement.means[0].effect.unwrap().n, 14);
}
