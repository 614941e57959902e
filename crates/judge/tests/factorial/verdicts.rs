//! Each level against its reference, cell by cell.

use judge::judge_commands;
use model::judgement::{Change, FactorialJudgement};
use model::{CommandRun, Verdict};

use crate::built_commands::{Factor, Questions, run};
use crate::{blocks, judged};

const COMPILERS: Factor = ("compiler", &["gcc", "clang"]);
const VERSIONS: Factor = ("version", &["a", "b", "c"]);

fn two_by_three(against: &'static str) -> CommandRun {
    let asked = Questions {
        against,
        ..Questions::comparing("version")
    };
    run(&[COMPILERS, VERSIONS], asked, 16)
}

/// With gcc b takes a fifth less and c the same as a; with clang b takes twice as long, c half.
fn cost(arm: &str) -> f64 {
    match arm {
        "gcc.b" => 16.0,
        "clang.b" => 40.0,
        "clang.c" => 10.0,
        _ => 20.0,
    }
}

fn verdicts(judgement: &FactorialJudgement) -> Vec<(&str, &str, Verdict)> {
    let of = judgement.contrasts.iter();
    of.map(|found| (found.arm.as_str(), found.against.as_str(), found.verdict))
        .collect()
}

#[test]
fn each_level_is_judged_against_the_first_in_its_own_cell() {
    let judgement = judged(&two_by_three("first"), cost);
    let expected = [
        ("gcc.b", "a", Verdict::Better),
        ("gcc.c", "a", Verdict::NoDifferenceThatMatters),
        ("clang.b", "a", Verdict::Worse),
        ("clang.c", "a", Verdict::Better),
    ];
    assert_eq!(verdicts(&judgement), expected);
    let effect = judgement.contrasts[2].change.effect().unwrap();
    assert!(
        (effect.ratio - 2.0).abs() < 0.02 && effect.n == 16,
        "{effect:?}"
    );
    assert_eq!(judgement.contrasts[2].cell["compiler"], "clang");
}

#[test]
fn against_the_previous_each_level_is_a_step_from_the_one_before() {
    let judgement = judged(&two_by_three("previous"), cost);
    let found = verdicts(&judgement);
    assert_eq!(found[1], ("gcc.c", "b", Verdict::Worse));
    assert_eq!(found[3], ("clang.c", "b", Verdict::Better));
    let last = judgement.contrasts[3].change.ratio().unwrap();
    assert!((last - 0.25).abs() < 0.01, "{last}");
}

#[test]
fn all_contrasts_share_the_error_by_holm_and_the_metrics_beside_them_have_five_percent_each() {
    let judgement = judged(&two_by_three("first"), cost);
    let mut alphas: Vec<f64> = judgement
        .contrasts
        .iter()
        .map(|found| found.change.effect().unwrap().alpha)
        .collect();
    alphas.sort_unstable_by(f64::total_cmp);
    assert_eq!(alphas, [0.05 / 4.0, 0.05 / 3.0, 0.05 / 2.0, 0.05]);
    let beside = &judgement.contrasts[0].beside;
    let names: Vec<&str> = beside.iter().map(|found| found.metric.as_str()).collect();
    assert_eq!(names, ["count", "wall_ns", "cpu_ns", "peak_memory_bytes"]);
    assert_eq!(beside[1].change.effect().unwrap().alpha, 0.05);
}

#[test]
fn where_more_is_better_twice_as_much_is_better() {
    let mut run = two_by_three("first");
    run.study.metrics[0].better = model::command_study::Better::Higher;
    let judgement = judged(&run, cost);
    let found: Vec<Verdict> = judgement
        .contrasts
        .iter()
        .map(|found| found.verdict)
        .collect();
    assert_eq!(found[2], Verdict::Better);
    assert_eq!(found[3], Verdict::Worse);
}

#[test]
fn arms_have_their_medians_and_the_control_is_the_noise_floor() {
    let judgement = judged(&two_by_three("first"), cost);
    let arm = judgement
        .arms
        .iter()
        .find(|arm| arm.name == "clang.b")
        .unwrap();
    let time = &arm.figures[0];
    assert!((time.estimate.value / 40e3 - 1.0).abs() < 0.01 && !time.steady);
    assert_eq!((arm.runs, arm.failed), (16, 0));
    let control = judgement.control.as_ref().unwrap();
    assert_eq!(control.verdict, Verdict::NoDifferenceThatMatters);
    assert_eq!(control.change.effect().unwrap().alpha, 0.05);
    assert!(judgement.smallest_visible.unwrap() < 0.03);
    assert_eq!((judgement.rounds_done, judgement.rounds_planned), (16, 16));
}

#[test]
fn a_forecast_shares_the_error_among_as_many_contrasts_as_the_run_is_judged_by() {
    let plain = Questions::comparing("version");
    let mean = Questions {
        mean_over: Some("compiler"),
        ..plain
    };
    let square = Questions {
        interaction: Some(["compiler", "version"]),
        ..plain
    };
    let visible = |asked| {
        let run = run(&[COMPILERS, VERSIONS], asked, 16);
        let blocks = blocks(&run, cost);
        let [control, baseline] = ["control", "gcc.a"].map(|arm| {
            let of_arm = blocks.iter().filter(|block| block.arm == arm);
            let times = of_arm.map(|block| block.reading.values["time_ns"]);
            times.collect::<Vec<f64>>()
        });
        let differences = control.iter().zip(&baseline).map(|(a, b)| (a / b).ln());
        let differences: Vec<f64> = differences.collect();
        let forecast = judge::visible_to_plan(&run.study, &run.arms, &differences);
        let judged = judge_commands(&run, &blocks).smallest_visible;
        let (forecast, judged) = (forecast.unwrap(), judged.unwrap());
        assert!(
            (forecast / judged - 1.0).abs() < 1e-6,
            "{forecast} {judged}"
        );
        forecast
    };
    let [plain, mean, square] = [plain, mean, square].map(visible);
    assert!(plain < mean && mean < square, "{plain} {mean} {square}");
}

#[test]
fn a_cell_with_one_level_only_has_figures_and_no_contrast() {
    let mut run = two_by_three("first");
    run.arms
        .retain(|arm| !matches!(arm.name.as_str(), "clang.b" | "clang.c"));
    let judgement = judged(&run, cost);
    assert!(
        judgement
            .contrasts
            .iter()
            .all(|found| found.cell["compiler"] == "gcc")
    );
    assert!(judgement.arms.iter().any(|arm| arm.name == "clang.a"));
}

#[test]
fn a_run_without_blocks_has_no_figures_and_a_judgement_survives_being_written() {
    for rounds in [0, 1, 2, 9, 16] {
        let mut run = two_by_three("first");
        run.study.design.rounds = rounds;
        let judgement = judged(&run, cost);
        let text = serde_json::to_string(&judgement).unwrap();
        let back: FactorialJudgement = serde_json::from_str(&text).unwrap();
        assert_eq!(back.contrasts.len(), 4, "{rounds}");
        if rounds == 0 {
            assert_eq!(judgement.contrasts[0].change, Change::Unknown);
        }
    }
}
