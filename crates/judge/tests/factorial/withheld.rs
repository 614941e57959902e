//! Verdicts that are withheld, and the doubts that say why.

use judge::judge_commands;
use model::command::CommandEnd;
use model::command_run::CommandBlock;
use model::command_study::{Agreement, Better, OutputPart, Size};
use model::judgement::{Change, FactorialJudgement};
use model::{CommandDoubt, CommandRun, Doubt, Verdict};

use crate::built_commands::{Questions, run};
use crate::{blocks, has};

fn two_cells() -> CommandRun {
    let factors = [
        ("size", &["small", "large"][..]),
        ("version", &["a", "b"][..]),
    ];
    run(&factors, Questions::comparing("version"), 16)
}

/// In both cells b takes a fifth less.
fn cost(arm: &str) -> f64 {
    if arm.ends_with(".b") { 16.0 } else { 20.0 }
}

fn changed(run: &CommandRun, change: impl Fn(&mut CommandBlock)) -> FactorialJudgement {
    let mut blocks = blocks(run, cost);
    blocks.iter_mut().for_each(change);
    judge_commands(run, &blocks)
}

fn verdicts(judgement: &FactorialJudgement) -> Vec<Verdict> {
    judgement
        .contrasts
        .iter()
        .map(|found| found.verdict)
        .collect()
}

fn command_doubt(is_kind: impl Fn(&CommandDoubt) -> bool) -> impl Fn(&Doubt) -> bool {
    move |doubt| matches!(doubt, Doubt::Command(doubt) if is_kind(doubt))
}

#[test]
fn nothing_is_withheld_where_nothing_is_wrong() {
    let judgement = changed(&two_cells(), |_| ());
    assert_eq!(verdicts(&judgement), [Verdict::Better; 2]);
    assert_eq!(judgement.doubts, []);
}

#[test]
fn a_first_run_is_called_slow_of_a_time_and_not_of_a_rate() {
    let is_called = |run: &CommandRun| {
        let judgement = changed(run, |block| {
            let time = block.reading.values.get_mut("time_ns").unwrap();
            if block.round == 0 {
                *time *= 5.0;
            }
        });
        let is_slow = |doubt: &CommandDoubt| matches!(doubt, CommandDoubt::FirstRunSlower { .. });
        has(&judgement, command_doubt(is_slow))
    };
    let mut run = two_cells();
    assert!(is_called(&run));
    run.study.metrics[0].unit = "requests/s".to_owned();
    run.study.metrics[0].better = Better::Higher;
    assert!(!is_called(&run));
}

#[test]
fn a_control_that_differs_voids_every_cell() {
    let judgement = changed(&two_cells(), |block| {
        if block.arm == "control" {
            let time = block.reading.values.get_mut("time_ns").unwrap();
            *time *= 1.05;
        }
    });
    assert_eq!(verdicts(&judgement), [Verdict::Invalid; 2]);
    assert!(judgement.contrasts[0].change.effect().is_some());
    assert!(has(&judgement, |doubt| matches!(
        doubt,
        Doubt::ControlDiffers { .. }
    )));
}

#[test]
fn runs_that_failed_have_no_figures_and_a_few_of_them_cost_no_verdict() {
    let judgement = changed(&two_cells(), |block| {
        if block.arm == "small.b" && block.round < 3 {
            block.reading.command.end = CommandEnd::Exited(1);
            block.reading.values.insert("time_ns".to_owned(), 1.0);
        }
    });
    assert_eq!(verdicts(&judgement), [Verdict::Better; 2]);
    assert_eq!(judgement.contrasts[0].change.effect().unwrap().n, 13);
    let arm = judgement
        .arms
        .iter()
        .find(|arm| arm.name == "small.b")
        .unwrap();
    assert_eq!((arm.runs, arm.failed), (16, 3));
    assert!(has(
        &judgement,
        command_doubt(|doubt| matches!(
            doubt,
            CommandDoubt::LeftOut {
                failed: 3,
                runs: 16,
                ..
            }
        ))
    ));
}

#[test]
fn more_than_a_quarter_of_the_pairs_lost_costs_the_verdict_of_their_cell() {
    let judgement = changed(&two_cells(), |block| {
        if block.arm == "small.b" && block.round < 5 {
            block.reading.command.end = CommandEnd::Killed { signal: 9 };
        }
    });
    assert_eq!(verdicts(&judgement), [Verdict::Invalid, Verdict::Better]);
    assert!(has(&judgement, |doubt| *doubt
        == Doubt::TooFewPairs {
            pairs: 11,
            needed: 12
        }));
}

#[test]
fn one_run_that_did_not_end_in_time_voids_its_cell_because_it_was_the_longest() {
    let judgement = changed(&two_cells(), |block| {
        if block.arm == "small.b" && block.round == 4 {
            block.reading.command.end = CommandEnd::TimedOut;
        }
    });
    assert_eq!(verdicts(&judgement), [Verdict::Invalid, Verdict::Better]);
    assert!(has(
        &judgement,
        command_doubt(|doubt| matches!(doubt, CommandDoubt::TimedOut { runs: 1, .. }))
    ));
}

#[test]
fn a_run_that_does_not_print_its_figure_is_told_of() {
    let judgement = changed(&two_cells(), |block| {
        if block.arm == "large.a" && block.round == 0 {
            block.reading.values.clear();
        }
    });
    assert_eq!(judgement.contrasts[1].change.effect().unwrap().n, 15);
    assert!(has(
        &judgement,
        command_doubt(|doubt| matches!(doubt, CommandDoubt::SaysNothing { runs: 1, .. }))
    ));
}

#[test]
fn outputs_that_must_agree_and_do_not_void_their_cell_alone() {
    let mut run = two_cells();
    run.study.workload.agree = Some(Agreement {
        on: OutputPart::Stdout,
        tolerance: Some(1e-6),
    });
    let printing = |text: fn(&CommandBlock) -> &'static str| {
        changed(&run, move |block| {
            block.reading.agreed = Some(text(block).to_owned());
        })
    };
    let alike = printing(|block| {
        if block.round == 3 {
            "1.0000000001"
        } else {
            "1.0"
        }
    });
    assert_eq!(verdicts(&alike), [Verdict::Better; 2]);
    let apart = printing(|block| if block.arm == "large.b" { "1.1" } else { "1.0" });
    assert_eq!(verdicts(&apart), [Verdict::Better, Verdict::Invalid]);
    assert!(has(
        &apart,
        command_doubt(|doubt| matches!(
            doubt,
            CommandDoubt::OutputsDiffer { cell, .. } if cell == "large"
        ))
    ));
}

#[test]
fn nine_rounds_are_too_few_and_27_contrasts_need_more_than_ten() {
    let mut few = two_cells();
    few.study.design.rounds = 9;
    let judgement = changed(&few, |_| ());
    assert_eq!(verdicts(&judgement), [Verdict::Invalid; 2]);
    let sizes: &[&str] = &[
        "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15",
        "16", "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27",
    ];
    let factors = [("size", sizes), ("version", &["a", "b"][..])];
    let many = run(&factors, Questions::comparing("version"), 10);
    let judgement = changed(&many, |_| ());
    assert_eq!(judgement.contrasts.len(), 27);
    assert!(has(&judgement, |doubt| *doubt
        == Doubt::TooFewPairs {
            pairs: 10,
            needed: 11
        }));
    assert!(
        verdicts(&judgement)
            .iter()
            .all(|found| *found == Verdict::Invalid)
    );
}

#[test]
fn an_effect_that_the_control_shows_too_is_inconclusive() {
    // The control comes out 4 % dearer, give or take 12 %: too unsteady to void the run, but
    // further from none than a steady 3.7 %.
    let run = two_cells();
    let mut blocks = blocks(&run, |arm| if arm.ends_with(".b") { 19.25 } else { 20.0 });
    for block in blocks.iter_mut().filter(|block| block.arm == "control") {
        let wobble = 1.04 + (f64::from(block.round * 7 % 16) - 7.5) / 62.5;
        let time = block.reading.values.get_mut("time_ns").unwrap();
        *time *= wobble;
    }
    let judgement = judge_commands(&run, &blocks);
    assert!(
        judgement.contrasts[0]
            .change
            .effect()
            .unwrap()
            .is_clear_of_none()
    );
    assert_eq!(verdicts(&judgement), [Verdict::Inconclusive; 2]);
}

#[test]
fn a_forecast_of_blindness_gives_way_to_the_figure_that_was_measured_and_other_doubts_stay() {
    let mut run = two_cells();
    let forecast = Doubt::BlindToEffect {
        smallest_visible: 0.5,
        sought: 0.03,
    };
    run.doubts = vec![forecast, Doubt::SharedCpus { cpus: 1 }];
    let judgement = changed(&run, |_| ());
    assert_eq!(judgement.doubts, [Doubt::SharedCpus { cpus: 1 }]);
}

#[test]
fn smoke_sizes_leave_figures_and_no_verdict() {
    let mut run = two_cells();
    let size = |full, smoke| Size { full, smoke };
    run.study.sizes = [("far", size(100, 4)), ("samples", size(1, 1))]
        .map(|(name, size)| (name.to_owned(), size))
        .into();
    let doubt = Doubt::Command(run.study.shorten_for_smoke(16).unwrap());
    assert!(
        doubt.what().contains("far 4 instead of 100"),
        "{}",
        doubt.what()
    );
    assert!(!doubt.what().contains("samples"), "{}", doubt.what());
    run.doubts = vec![doubt.clone()];
    let judgement = changed(&run, |_| ());
    assert_eq!(verdicts(&judgement), [Verdict::Invalid; 2]);
    assert!(judgement.contrasts[0].change.effect().is_some());
    assert_eq!(judgement.doubts, [doubt]);
    // Sizes that are the same in both forms are no smoke ones.
    assert_eq!(run.study.shorten_for_smoke(16), None);
}

#[test]
fn an_unfinished_run_says_how_far_it_came() {
    let run = two_cells();
    let mut blocks = blocks(&run, cost);
    blocks.retain(|block| block.round < 12);
    let judgement = judge_commands(&run, &blocks);
    assert_eq!(judgement.rounds_done, 12);
    assert!(has(&judgement, |doubt| *doubt
        == Doubt::Unfinished {
            rounds_done: 12,
            rounds_planned: 16
        }));
    assert_eq!(verdicts(&judgement), [Verdict::Better; 2]);
}

/// Makes a command fail: nothing of such a run counts, whatever its exit code.
fn fails(block: &mut CommandBlock) {
    block.reading.failed = Some("`b` exited with 3; its last words: no straw".to_owned());
}

#[test]
fn an_arm_that_always_fails_costs_its_own_comparison_alone_and_is_named_with_the_reason() {
    let judgement = changed(&two_cells(), |block| {
        if block.arm == "small.b" {
            fails(block);
        }
    });
    assert_eq!(verdicts(&judgement), [Verdict::Invalid, Verdict::Better]);
    assert_eq!(judgement.contrasts[0].change, Change::Unknown);
    let [
        Doubt::Command(CommandDoubt::LeftOut {
            command, reason, ..
        }),
    ] = &judgement.doubts[..]
    else {
        panic!("{:?}", judgement.doubts);
    };
    assert_eq!(command, "small, b");
    assert!(reason.ends_with("no straw"), "{reason}");
}

#[test]
fn each_arm_that_fails_is_told() {
    let judgement = changed(&two_cells(), |block| {
        if block.arm.ends_with(".b") {
            fails(block);
        }
    });
    let is_told = command_doubt(|doubt| matches!(doubt, CommandDoubt::LeftOut { .. }));
    let told = judgement.doubts.iter().filter(|doubt| is_told(doubt));
    assert_eq!(told.count(), 2, "{:?}", judgement.doubts);
}

#[test]
fn nothing_has_a_verdict_where_the_control_failed_always_or_all_but_once() {
    for rounds_left in [0, 1] {
        let judgement = changed(&two_cells(), |block| {
            if block.arm == "control" && block.round >= rounds_left {
                fails(block);
            }
        });
        assert_eq!(verdicts(&judgement), [Verdict::Invalid; 2]);
    }
}
