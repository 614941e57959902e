//! What two factors do together.

use model::CommandRun;
use model::Verdict;
use model::judgement::{InteractionResult, Together};

use crate::built_commands::{Questions, run};
use crate::judged;

fn square() -> CommandRun {
    let asked = Questions {
        interaction: Some(["cache", "watcher"]),
        ..Questions::comparing("watcher")
    };
    let factors = [
        ("cache", &["off", "on"][..]),
        ("watcher", &["off", "on"][..]),
    ];
    run(&factors, asked, 16)
}

/// What the four arms cost: with neither, the watcher alone, the cache alone, and both.
fn interaction_of(costs: [f64; 4]) -> InteractionResult {
    let judgement = judged(&square(), |arm| match arm {
        "off.on" => costs[1],
        "on.off" => costs[2],
        "on.on" => costs[3],
        _ => costs[0],
    });
    let [found] = judgement.interactions.as_slice() else {
        panic!("{:?}", judgement.interactions);
    };
    found.clone()
}

#[test]
fn two_settings_that_only_pay_together_are_told_so_with_an_interval() {
    let found = interaction_of([30.0, 29.8, 35.0, 0.6]);
    assert_eq!(found.square.together, Together::OnlyTogether);
    assert_eq!(found.square.alone[0].verdict, Verdict::Worse);
    assert_eq!(
        found.square.alone[1].verdict,
        Verdict::NoDifferenceThatMatters
    );
    let effect = found.square.interaction.effect.unwrap();
    let product = (0.6 / 30.0) / ((29.8 / 30.0) * (35.0 / 30.0));
    assert!((effect.ratio / product - 1.0).abs() < 0.02, "{effect:?}");
    assert!(effect.low < effect.ratio && effect.ratio < effect.high);
    assert_eq!(found.factors, ["cache", "watcher"]);
}

#[test]
fn gains_that_multiply_are_independent_and_others_are_more_or_less_than_their_product() {
    let together = |both| interaction_of([20.0, 16.0, 10.0, both]).square.together;
    assert_eq!(together(8.0), Together::Independent);
    assert_eq!(together(4.0), Together::MoreTogether);
    assert_eq!(together(10.0), Together::LessTogether);
}

#[test]
fn a_contrast_that_is_asked_for_twice_spends_its_error_once() {
    // Two cells, and of the square the cache alone, both, and both beyond each alone: the watcher
    // alone is the contrast of the first cell.
    let found = interaction_of([30.0, 24.0, 35.0, 0.6]);
    let judged = [
        found.square.alone[0],
        found.square.alone[1],
        found.square.both,
        found.square.interaction,
    ];
    let alphas = judged.map(|one| one.effect.unwrap().alpha);
    assert_eq!(alphas.into_iter().fold(1.0, f64::min), 0.05 / 5.0);
}

#[test]
fn a_square_that_lacks_an_arm_has_no_interaction() {
    let mut run = square();
    run.arms.retain(|arm| arm.name != "on.off");
    assert!(judged(&run, |_| 20.0).interactions.is_empty());
}
