//! Values that never vary.

use judge::judge_commands;
use model::command_run::CommandBlock;
use model::judgement::{Change, ExactChange, FactorialJudgement};
use model::{CommandDoubt, Doubt, Verdict};

use crate::blocks;
use crate::built_commands::{Questions, run};

/// The judgement of a run whose verdicts are about a count.
fn counted(change: impl Fn(&mut CommandBlock)) -> FactorialJudgement {
    let mut run = run(
        &[("version", &["a", "b"])],
        Questions::comparing("version"),
        16,
    );
    run.study.metrics.swap(0, 1);
    let mut blocks = blocks(&run, |_| 20.0);
    blocks.iter_mut().for_each(change);
    judge_commands(&run, &blocks)
}

fn set(block: &mut CommandBlock, value: f64) {
    block.reading.values.insert("count".to_owned(), value);
}

#[test]
fn counts_that_never_vary_are_equal_without_an_interval() {
    let judgement = counted(|_| ());
    let found = &judgement.contrasts[0];
    let equal = ExactChange {
        value: 7.0,
        against: 7.0,
        n: 16,
    };
    assert_eq!(found.change, Change::Exact(equal));
    assert_eq!(found.verdict, Verdict::NoDifferenceThatMatters);
    assert!(judgement.arms[0].figures[0].steady);
    assert!(
        !judgement
            .doubts
            .iter()
            .any(|doubt| doubt.what().contains("pairs"))
    );
}

#[test]
fn a_count_that_drops_to_none_is_better_although_it_has_no_ratio() {
    let judgement = counted(|block| {
        if block.arm == "b" {
            set(block, 0.0);
        }
    });
    let found = &judgement.contrasts[0];
    assert_eq!(found.verdict, Verdict::Better);
    assert_eq!(found.change.ratio(), None);
}

#[test]
fn a_control_that_never_varies_and_is_another_voids_all_and_is_not_called_worse() {
    for count in [8.0, 0.0] {
        let judgement = counted(|block| {
            if block.arm == "control" {
                set(block, count);
            }
        });
        let control = judgement.control.as_ref().unwrap();
        assert_eq!(control.verdict, Verdict::Invalid);
        assert_eq!(judgement.contrasts[0].verdict, Verdict::Invalid);
        let expected = Doubt::Command(CommandDoubt::ControlIsAnother {
            metric: "count".to_owned(),
            value: count,
            against: 7.0,
        });
        assert_eq!(judgement.doubts, [expected]);
    }
}

#[test]
fn a_control_that_is_another_voids_estimates_too() {
    let judgement = counted(|block| match block.arm.as_str() {
        "control" => set(block, 8.0),
        "b" => set(block, 20.0 + f64::from(block.round % 3)),
        _ => {}
    });
    let found = &judgement.contrasts[0];
    assert!(found.change.effect().unwrap().is_clear_of_none());
    assert_eq!(found.verdict, Verdict::Invalid);
}

#[test]
fn a_control_that_never_varies_and_is_near_is_no_difference_that_matters() {
    let judgement = counted(|block| match block.arm.as_str() {
        "control" => set(block, 7.1),
        "b" => set(block, 5.0),
        _ => {}
    });
    let control = judgement.control.as_ref().unwrap();
    assert_eq!(control.verdict, Verdict::NoDifferenceThatMatters);
    assert_eq!(judgement.contrasts[0].verdict, Verdict::Better);
    assert_eq!(judgement.doubts, []);
}

#[test]
fn a_count_that_varies_in_one_round_becomes_an_estimate() {
    let judgement = counted(|block| {
        if block.arm == "b" && block.round == 3 {
            set(block, 8.0);
        }
    });
    let effect = judgement.contrasts[0].change.effect().unwrap();
    assert_eq!((effect.ratio, effect.n), (1.0, 16));
}
