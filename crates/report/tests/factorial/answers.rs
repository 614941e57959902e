//! The answer is true for every way in which a run can come out.

use model::CommandRun;
use model::command::CommandEnd;
use model::command_run::CommandBlock;
use model::command_study::{Agreement, OutputPart};

use crate::made_up::{self, MadeUp, benchmarks, settings, sizes, strength, version_cost, versions};
use crate::says;

/// The answer of the study of versions with GCC at -O0 alone, where B takes `times` times as long
/// as A.
fn one_cell(times: f64, noise: f64, change: impl Fn(&mut CommandBlock)) -> String {
    let mut run = versions();
    run.arms
        .retain(|arm| arm.name == "control" || arm.name.starts_with("gcc.o0"));
    keep_level(&mut run, "compiler", "gcc");
    keep_level(&mut run, "options", "o0");
    let cost = |arm: &str| {
        if arm.ends_with("add") {
            100.0 * times
        } else {
            100.0
        }
    };
    MadeUp::of(run, noise, cost, change).answer()
}

fn keep_level(run: &mut CommandRun, factor: &str, level: &str) {
    let mut factors = run.study.factors.iter_mut();
    let factor = factors
        .find(|one| one.name == factor)
        .expect("the run has it");
    factor.levels.retain(|one| one.name == level);
}

fn nothing(_: &mut CommandBlock) {}

#[test]
fn one_comparison_is_told_in_the_words_of_its_verdict_with_its_interval() {
    let better = one_cell(0.8, 0.005, nothing);
    assert!(
        better.starts_with("GCC, -O0: “B: add to the one before” is better than “A: multiply"),
        "{better}"
    );
    says(&better, "one call of compute() −20.");
    says(&better, " … ");
    let worse = one_cell(3.0, 0.005, nothing);
    says(&worse, "is worse than");
    says(&worse, "3.00 times (");
    let alike = one_cell(1.001, 0.005, nothing);
    says(&alike, "there is no difference that matters between");
}

#[test]
fn the_answer_says_so_where_the_data_cannot_tell_which_is_better() {
    let unsure = one_cell(1.02, 0.15, nothing);
    says(&unsure, "this run cannot tell whether");
}

#[test]
fn a_withheld_verdict_says_why_and_still_gives_the_figures() {
    let differs = one_cell(0.8, 0.005, |block| {
        if block.arm == "control" {
            *block.reading.values.get_mut("time_ns").unwrap() *= 1.05;
        }
    });
    says(&differs, "the same command came out different from itself");
    says(&differs, "Measured: one call of compute() −20.");
    let failed = one_cell(0.8, 0.005, |block| {
        if block.arm.ends_with("add") && block.round < 6 {
            block.reading.command.end = CommandEnd::Exited(1);
        }
    });
    says(&failed, "no verdict");
    says(&failed, "6 of 16 runs failed");
    let late = one_cell(0.8, 0.005, |block| {
        if block.arm.ends_with("add") && block.round == 2 {
            block.reading.command.end = CommandEnd::TimedOut;
        }
    });
    says(&late, "some of its runs did not end in time");
    let gone = one_cell(0.8, 0.005, |block| {
        if block.arm.ends_with("add") {
            block.reading.command.end = CommandEnd::Killed { signal: 11 };
        }
    });
    says(&gone, "16 of 16 runs failed");
}

#[test]
fn outputs_that_differ_void_their_cell_and_the_answer_says_so() {
    let mut run = versions();
    run.arms
        .retain(|arm| arm.name == "control" || arm.name.starts_with("gcc.o0"));
    run.study.workload.agree = Some(Agreement {
        on: OutputPart::Stdout,
        tolerance: None,
    });
    let made = MadeUp::of(run, 0.005, version_cost, |block| {
        block.reading.agreed = Some(block.arm.ends_with("add").to_string());
    });
    let said = made.answer();
    says(&said, "they must print the same and do not");
    assert!(
        made.text(200).contains("(`false` and `true`)"),
        "{}",
        made.text(200)
    );
}

#[test]
fn the_same_verdict_in_every_cell_is_one_sentence_with_the_range() {
    let said = strength().answer();
    says(&said, "is worse than");
    says(&said, "in all 6 cells");
    says(
        &said,
        "2.31 times (Clang, -O0) … 5.55 times (GCC, -O3 -march=native)",
    );
}

#[test]
fn cells_that_come_out_differently_are_counted() {
    let cost = |arm: &str| match arm {
        "gcc.o0.add" => 1000.0,
        "gcc.o2.add" => 304.0,
        _ => version_cost(arm),
    };
    let said = MadeUp::of(versions(), 0.005, cost, nothing).answer();
    says(
        &said,
        "“B: add to the one before” is worse than “A: multiply for each element” in 4 of 6 cells: ",
    );
    let others =
        ". The rest: 1 better, 1 without a difference that matters; the largest change −29.";
    assert!(
        said.contains(others) && said.ends_with(" (GCC, -O0)."),
        "{said}"
    );
    let half = |arm: &str| match arm {
        "gcc.o0.add" | "clang.o0.add" => 1000.0,
        "gcc.o2.add" => 304.0,
        _ => version_cost(arm),
    };
    let said = MadeUp::of(versions(), 0.005, half, nothing).answer();
    says(
        &said,
        "in 6 cells: 2 better, 3 worse, 1 without a difference that matters",
    );
}

#[test]
fn a_level_that_was_left_out_leaves_cells_with_one_level_which_are_named() {
    let mut run = versions();
    run.arms
        .retain(|arm| !arm.name.starts_with("clang.o") || arm.name.ends_with("multiply"));
    let made = MadeUp::of(run, 0.005, version_cost, nothing);
    assert!(
        made.answer().contains("in all 4 cells"),
        "{}",
        made.answer()
    );
    let text = made.text(300);
    says(&text, "Clang, -O0 has only “A: multiply for each element”");
    assert!(made.page().contains("has only “A: multiply"));
}

#[test]
fn with_one_level_alone_nothing_was_compared() {
    let mut run = versions();
    run.arms
        .retain(|arm| arm.name.ends_with("multiply") || arm.name == "control");
    let said = MadeUp::of(run, 0.005, version_cost, nothing).answer();
    assert_eq!(
        said,
        "Nothing could be compared: only “A: multiply for each element” is in this run."
    );
}

#[test]
fn a_run_that_broke_off_says_how_many_pairs_are_missing() {
    let mut run = versions();
    run.study.design.rounds = 3;
    let said = MadeUp::of(run, 0.005, version_cost, nothing).answer();
    says(&said, "there are too few pairs, 3 where 10 are needed");
}

#[test]
fn settings_are_told_by_what_they_do_alone_and_together() {
    let said = |costs| settings(costs).answer();
    let only = said([30.0, 29.8, 35.0, 0.6]);
    assert!(
        only.starts_with(
            "“Untracked cache” and “File system monitor” only pay together: alone they \
                          change git status by +17.2 % and −0.7 %, together by −98.0 % ("
        ),
        "{only}"
    );
    assert!(said([20.0, 16.0, 10.0, 4.0]).contains("pay more together than apart"));
    assert!(said([20.0, 16.0, 10.0, 10.0]).contains("pay less together than apart"));
    assert!(said([20.0, 16.0, 10.0, 8.0]).contains("do not depend on one another"));
}

#[test]
fn many_means_are_counted_and_the_furthest_of_either_direction_told() {
    let mut made = benchmarks();
    let [worse, better] = made.judgement.means.clone().try_into().unwrap();
    let mut further = better.clone();
    further.level = "old".to_owned();
    further.effect.as_mut().unwrap().ratio = 0.5;
    made.judgement.means = vec![worse, better.clone(), further, better];
    let said = made.answer();
    assert!(
        said.starts_with("Of 4 geometric means: 3 better, 1 worse. On the whole “3.10” is better"),
        "{said}"
    );
    let told = said.matches("On the whole").count();
    assert!(told == 2 && said.contains("“3.11” is worse than"), "{said}");
    for mean in &mut made.judgement.means {
        mean.verdict = model::Verdict::Invalid;
    }
    let few = model::Doubt::TooFewPairs {
        pairs: 2,
        needed: 12,
    };
    made.judgement.doubts.push(few);
    let void = "Of 4 geometric means: 4 without a verdict, because there are too few pairs, 2 where 12 are needed.";
    assert_eq!(made.answer(), void);
}

#[test]
fn what_holds_in_one_cell_goes_on_after_its_name_as_one_sentence() {
    let mut made = settings([20.0, 16.0, 10.0, 4.0]);
    let found = &mut made.judgement.interactions[0];
    found.cell = [("state".to_owned(), "edited".to_owned())].into();
    found.square.together = model::judgement::Together::Inconclusive;
    let mut state = made.run.study.factors[0].clone();
    state.name = "state".to_owned();
    state.levels.truncate(1);
    state.levels[0].name = "edited".to_owned();
    state.levels[0].title = "just edited".to_owned();
    made.run.study.factors.push(state);
    let said = made.answer();
    says(&said, "Just edited: this run cannot tell");
}

#[test]
fn a_mean_is_told_with_what_it_hides() {
    let said = benchmarks().answer();
    says(
        &said,
        "On the whole “3.12” is better than “3.10”: run time −4.7 %",
    );
    says(&said, "the geometric mean over 4 levels of “Benchmarks”");
    says(&said, "it is worse in 1 of them, “coverage” (2.20 times)");
}

#[test]
fn steps_that_are_the_same_in_every_cell_are_told_and_the_others_counted() {
    let said = sizes().answer();
    assert!(
        said.starts_with("“14481” is worse than “14480” in both cells"),
        "{said}"
    );
    says(&said, "“43441” is worse than “43440” in both cells");
    assert!(
        said.ends_with("Of the 8 other comparisons: 8 without a difference that matters."),
        "{said}"
    );
}

#[test]
fn a_count_that_never_varies_has_no_interval() {
    let mut run = versions();
    run.study.metrics.swap(0, 1);
    let said = MadeUp::of(run, 0.005, version_cost, nothing).answer();
    says(&said, "no difference that matters");
    let text = made_up::settings([20.0; 4]).text(200);
    says(&text, "7 times");
    says(&text, "equal");
    let long = made_up::strength().text(200);
    says(&long, "The report and --json also have: count");
}

#[test]
fn of_many_arms_what_was_predicted_still_stands_beside_what_was_found() {
    let text = sizes().text(200);
    let row = |line: &&str| line.trim_start().starts_with("43441 ");
    let predicted: Vec<_> = text
        .lines()
        .filter(row)
        .filter(|line| line.ends_with(" ms"))
        .collect();
    assert!(
        predicted.len() == 2
            && predicted[0].ends_with("300 ms")
            && predicted[1].ends_with("900 ms"),
        "{text}"
    );
}
