//! What a whole ladder is judged on besides its climb.

use judge::judge;
use model::judgement::{LadderJudgement, Together};
use model::ladder::{Whole, alone, both, without};
use model::rig::RigKind;
use model::run::Confirmation;
use model::run::Phase;
use model::{Arm, BlockRecord, Doubt, Effect, RunRecord, Verdict};

use super::built_run::{arm, with_arms};
use super::rounds;

const ROUNDS: u32 = 16;

/// A ladder of two steps, with an arm for the second step alone and one for both together.
fn whole_ladder() -> RunRecord {
    let pair = ["one", "two"].map(str::to_owned);
    let mut run = with_arms(
        &[
            arm("baseline", "baseline", None),
            arm("control", "control", Some("baseline")),
            arm("one", "step", Some("baseline")),
            arm("two", "step", Some("one")),
            arm(&alone("two"), "alone", Some("baseline")),
            arm(&both(&pair), "both", Some("baseline")),
        ],
        ROUNDS,
    );
    run.study.whole = Some(Whole {
        rig: RigKind::Netns,
        levers: Vec::new(),
        stand_ins: Vec::new(),
        confirm_rounds: ROUNDS,
        together: vec![pair],
    });
    run
}

/// The confirmation after the second step was dropped.
fn confirmation() -> Confirmation {
    let arms = [
        arm("baseline", "baseline", None),
        arm("control", "control", Some("baseline")),
        arm("last", "last", Some("baseline")),
        arm(&without("one"), "without", Some("last")),
    ];
    let parsed = arms.map(|arm| serde_json::from_value::<Arm>(arm).expect("an arm as it is saved"));
    Confirmation {
        dropped: vec!["two".to_owned()],
        arms: parsed.to_vec(),
    }
}

/// Blocks of the climb: alone, the first step saves a fifth and the second nothing; together, half.
fn climbed() -> Vec<BlockRecord> {
    rounds(
        ROUNDS,
        &[
            ("baseline", 20.0),
            ("control", 20.0),
            ("one", 16.0),
            ("two", 10.0),
            ("alone:two", 20.0),
            ("both:one+two", 10.0),
        ],
    )
}

fn confirming(costs: &[(&str, f64)]) -> Vec<BlockRecord> {
    let mut blocks = rounds(ROUNDS, costs);
    for block in &mut blocks {
        block.phase = Phase::Confirmation;
    }
    blocks
}

fn judged(run: &RunRecord, blocks: &[BlockRecord]) -> LadderJudgement {
    judge(run, blocks).ladder.expect("a whole ladder")
}

#[test]
fn a_run_of_the_climb_alone_has_no_ladder_judgement() {
    let mut run = whole_ladder();
    run.study.whole = None;
    assert_eq!(judge(&run, &climbed()).ladder, None);
}

#[test]
fn the_first_step_alone_is_judged_from_its_rung_and_a_later_one_from_an_arm_of_its_own() {
    let ladder = judged(&whole_ladder(), &climbed());
    let verdicts: Vec<_> = ladder
        .rungs
        .iter()
        .map(|rung| (rung.step.as_str(), rung.alone.unwrap().verdict))
        .collect();
    let none = Verdict::NoDifferenceThatMatters;
    assert_eq!(verdicts, [("one", Verdict::Better), ("two", none)]);
    let ratio = ladder.rungs[0].alone.unwrap().effect.unwrap().ratio;
    assert!((ratio - 0.8).abs() < 0.01, "{ratio}");
}

#[test]
fn a_round_resumed_after_a_break_is_complete_but_gives_no_pair_across_the_break() {
    let mut blocks = climbed();
    let later = |block: &BlockRecord| block.round > 3 || block.round == 3 && block.position > 2;
    for block in &mut blocks {
        block.epoch = u32::from(later(block));
    }
    let judgement = judge(&whole_ladder(), &blocks);
    assert_eq!(judgement.rounds_done, ROUNDS);
    let n = |effect: Option<Effect>| effect.unwrap().n;
    let steps = judgement.steps.iter().map(|step| n(step.effect));
    assert_eq!(steps.collect::<Vec<_>>(), [ROUNDS, ROUNDS - 1]);
    let ladder = judgement.ladder.unwrap();
    let alone = ladder
        .rungs
        .iter()
        .map(|rung| n(rung.alone.unwrap().effect));
    assert_eq!(alone.collect::<Vec<_>>(), [ROUNDS, ROUNDS - 1]);
    assert_eq!(n(ladder.together[0].square.interaction.effect), ROUNDS - 1);
}

#[test]
fn what_two_steps_do_beyond_the_product_of_each_alone_is_told() {
    let ladder = judged(&whole_ladder(), &climbed());
    let [found] = &ladder.together[..] else {
        panic!("one pair was asked for");
    };
    assert_eq!(found.square.together, Together::MoreTogether);
    let ratio = found.square.interaction.effect.unwrap().ratio;
    // 0.5 ÷ (0.8 × 1.0)
    assert!((ratio - 0.625).abs() < 0.01, "{ratio}");
}

#[test]
fn alone_and_both_arms_are_not_steps_of_the_climb() {
    let judgement = judge(&whole_ladder(), &climbed());
    let names: Vec<_> = judgement.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["baseline", "control", "one", "two"]);
    assert_eq!(judgement.steps.len(), 2);
}

#[test]
fn the_confirmation_is_judged_from_its_own_blocks() {
    let mut run = whole_ladder();
    run.confirmation = Some(confirmation());
    let mut blocks = climbed();
    assert_eq!(judged(&run, &blocks).confirmed, None);
    blocks.extend(confirming(&[
        ("baseline", 30.0),
        ("control", 30.0),
        ("last", 15.0),
        ("without:one", 20.0),
    ]));
    let ladder = judged(&run, &blocks);
    let confirmed = ladder.confirmed.unwrap();
    assert_eq!(confirmed.whole.verdict, Verdict::Better);
    let ratio = confirmed.whole.effect.unwrap().ratio;
    assert!((ratio - 0.5).abs() < 0.01, "{ratio}");
    let [one, two] = &ladder.rungs[..] else {
        panic!("two steps were climbed");
    };
    let at_the_top = one.at_the_top.unwrap().effect.unwrap().ratio;
    assert!((at_the_top - 0.75).abs() < 0.01, "{at_the_top}");
    assert!(two.dropped && two.at_the_top.is_none() && !one.dropped);
}

#[test]
fn a_control_that_differs_in_the_confirmation_voids_what_is_said_of_the_last_state() {
    let mut run = whole_ladder();
    run.confirmation = Some(confirmation());
    let mut blocks = climbed();
    blocks.extend(confirming(&[
        ("baseline", 30.0),
        ("control", 36.0),
        ("last", 15.0),
        ("without:one", 20.0),
    ]));
    let judgement = judge(&run, &blocks);
    let ladder = judgement.ladder.unwrap();
    assert_eq!(ladder.confirmed.unwrap().whole.verdict, Verdict::Invalid);
    assert_eq!(
        ladder.rungs[0].at_the_top.unwrap().verdict,
        Verdict::Invalid
    );
    assert_eq!(ladder.rungs[0].alone.unwrap().verdict, Verdict::Better);
    let is_control = |doubt: &Doubt| matches!(doubt, Doubt::ControlDiffers { .. });
    assert!(judgement.doubts.iter().any(is_control));
}

#[test]
fn a_confirmation_that_lacks_rounds_or_fails_its_requests_is_doubted() {
    let mut run = whole_ladder();
    let mut blocks = climbed();
    let doubts = |run: &RunRecord, blocks: &[BlockRecord]| judge(run, blocks).doubts;
    let unfinished = |rounds_done| Doubt::Unfinished {
        rounds_done,
        rounds_planned: ROUNDS,
    };
    assert!(
        doubts(&run, &blocks).contains(&unfinished(0)),
        "it has not begun"
    );
    run.confirmation = Some(confirmation());
    let mut confirming = confirming(&[
        ("baseline", 30.0),
        ("control", 30.0),
        ("last", 15.0),
        ("without:one", 20.0),
    ]);
    confirming.retain(|block| block.round < 3);
    blocks.extend(confirming);
    let found = doubts(&run, &blocks);
    assert!(found.contains(&unfinished(3)), "{found:?}");
    let pairs_missing = |doubt: &Doubt| matches!(doubt, Doubt::TooFewPairs { pairs: 3, .. });
    assert!(found.iter().any(pairs_missing), "{found:?}");
    for block in blocks.iter_mut().filter(|block| block.arm == "last") {
        block.reading.answered = 0;
    }
    let silent = Doubt::AnsweredNothing {
        arm: "last".to_owned(),
    };
    assert!(doubts(&run, &blocks).contains(&silent));
}

#[test]
fn where_every_step_was_dropped_no_confirmation_is_missing() {
    let mut run = whole_ladder();
    run.confirmation = Some(Confirmation {
        dropped: vec!["one".to_owned(), "two".to_owned()],
        arms: Vec::new(),
    });
    let is_unfinished = |doubt: &Doubt| matches!(doubt, Doubt::Unfinished { .. });
    assert!(!judge(&run, &climbed()).doubts.iter().any(is_unfinished));
}
