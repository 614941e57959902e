//! The pages that are visited: those of real runs, and made-up ones that are hard to lay out.

use std::path::{Path, PathBuf};

use model::stacks::{ArmStacks, RunStacks, StackFrame, Stacks};
use model::{Doubt, Judgement, RunRecord, Verdict};

use crate::{made_up, sample};

const HOSTILE: &str = "<script>console.error('planted')</script>\"><img src=http://127.0.0.1:9/x>";
const LONG: &str = "one_setting_whose_name_has_no_place_at_which_a_line_could_be_broken_anywhere";
const CHINESE: &str = "每次回應只送一次，不再重新註冊通知，並且關閉連線追蹤與封包過濾規則";

/// Writes all pages and returns their paths.
pub(crate) fn all() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).expect("cargo makes the directory above for its tests");
    let pages = [
        ("run", recorded("http-json")),
        ("smoke", recorded("smoke")),
        ("ladder", rendered(&sample::run(), &sample::judgement())),
        ("versus", versus()),
        ("doubtful", doubtful()),
        ("invalid", invalid()),
        ("hostile", titled(HOSTILE)),
        ("long", titled(LONG)),
        ("chinese", titled(CHINESE)),
        ("factorial-run", recorded_factorial("strength-reduction")),
        (
            "factorial-settings",
            made_up::settings([30.0, 29.8, 35.0, 0.6]).page(),
        ),
        ("factorial-benchmarks", made_up::benchmarks().page()),
        ("factorial-sizes", made_up::sizes().page()),
        ("factorial-hostile", made_up::titled(HOSTILE).page()),
        ("look", look(None)),
        ("look-hostile", look(Some(HOSTILE))),
        ("look-long", look(Some(LONG))),
        ("difference", difference()),
        ("cores", cores(2)),
        ("cores-many", cores(48)),
        ("factorial-long", made_up::titled(LONG).page()),
    ];
    let written = pages.into_iter().map(|(name, page)| {
        let path = folder.join(format!("{name}.html"));
        std::fs::write(&path, page).expect("the target directory can be written");
        path
    });
    written.collect()
}

/// The page of a run that was measured and saved.
pub(crate) fn recorded(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let (run, blocks) = report::folder::read(&folder.join(name)).expect("the run is kept here");
    report::html::render(&run, &blocks, &judge::judge(&run, &blocks))
}

/// The page of a run of commands that was measured and saved.
fn recorded_factorial(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let read = report::folder::read_commands(&folder.join(name));
    let (run, blocks, evidence) = read.expect("the run is kept here");
    let judgement = judge::judge_commands(&run, &blocks);
    report::html::render_factorial(&run, &blocks, &judgement, &evidence)
}

/// The page of a look at a program. Where a name is given, every tenth frame of its stacks has it.
fn look(name: Option<&str>) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/look");
    let mut look = report::folder::read_look(&folder).expect("the look is kept here");
    if let (Some(name), Some(stacks)) = (name, &mut look.study.observation.stacks) {
        let frames = stacks.stacks.iter_mut().flat_map(|stack| &mut stack.frames);
        frames
            .step_by(10)
            .for_each(|frame| name.clone_into(&mut frame.name));
    }
    report::html::render_look(&look, &judge::explain_look(&look.study))
}

/// The page of two servers, one of which calls a function that the other does not.
fn difference() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/look");
    let look = report::folder::read_look(&folder).expect("the look is kept here");
    let stacks = look.study.observation.stacks.expect("it saw some");
    let (mut run, judgement) = sample::versus(Verdict::Worse, 1.3, 0.02);
    let step = judgement.steps.last().expect("B stands beside A");
    let planted = (0..40).map(|_| (vec![StackFrame::of_program(LONG)], 5_000_000));
    let arm = |arm: &str, stacks: Stacks| ArmStacks {
        arm: arm.to_owned(),
        stacks,
    };
    run.stacks = Some(RunStacks {
        arms: vec![
            arm(&step.against, stacks.clone()),
            arm(&step.arm, stacks.and(Stacks::of(1, planted))),
        ],
        unseen: Some("a stranger".to_owned()),
    });
    rendered(&run, &judgement)
}

/// The page of a machine with `cpus` CPUs, in groups of eight that are near one another.
fn cores(cpus: usize) -> String {
    let pairs = (0..cpus).flat_map(|one| (0..one).map(move |other| [one, other]));
    let pair = |[one, other]: [usize; 2]| {
        let far = if one / 8 == other / 8 { 23.0 } else { 107.0 };
        let lines: Vec<Vec<f64>> = (0..8).map(|line| vec![far + f64::from(line); 20]).collect();
        judge::cores::pair([one, other], &lines, &lines)
    };
    let all: Vec<usize> = (0..cpus).collect();
    let about = report::cores::About {
        version: "1",
        kicker: vec!["probe cores".to_owned(), HOSTILE.to_owned()],
        notes: vec![LONG.to_owned()],
        command: "linerate probe cores",
    };
    report::cores::html(
        &judge::cores::distances(&all, pairs.filter_map(pair).collect()),
        &about,
    )
}

fn rendered(run: &RunRecord, judgement: &Judgement) -> String {
    report::html::render(run, &sample::blocks(judgement), judgement)
}

fn versus() -> String {
    let (run, judgement) = sample::versus(Verdict::Inconclusive, 0.97, 0.09);
    rendered(&run, &judgement)
}

/// A run with verdicts of every kind and a list of doubts.
fn doubtful() -> String {
    let mut judgement = sample::judgement();
    let verdicts = [
        Verdict::Worse,
        Verdict::NoDifferenceThatMatters,
        Verdict::Inconclusive,
    ];
    for (step, verdict) in judgement.steps.iter_mut().zip(verdicts) {
        step.verdict = verdict;
    }
    judgement.doubts.extend([
        Doubt::ClientIsLimit { busy_share: 0.97 },
        Doubt::ForeignWork { cpu_share: 0.31 },
        Doubt::NoPrivateNamespace {
            reason: "unshare(CLONE_NEWUSER): EPERM".to_owned(),
        },
        Doubt::Unfinished {
            rounds_done: 11,
            rounds_planned: 16,
        },
    ]);
    rendered(&sample::run(), &judgement)
}

/// A run whose control differs: figures, and no verdict.
fn invalid() -> String {
    let mut judgement = sample::judgement();
    for step in judgement.steps.iter_mut().chain(&mut judgement.whole) {
        step.verdict = Verdict::Invalid;
    }
    judgement.doubts.push(Doubt::ControlDiffers {
        ratio: 1.042,
        p_value: 0.0003,
    });
    rendered(&sample::run(), &judgement)
}

/// A ladder in which everything that has a title has this one.
fn titled(title: &str) -> String {
    let (mut run, mut judgement) = (sample::run(), sample::judgement());
    for text in [
        &mut run.study.title,
        &mut run.study.question,
        &mut run.study.method,
        &mut run.study.workload.path,
        &mut run.facts.cpu_model,
        &mut run.command,
    ] {
        title.clone_into(text);
    }
    run.study.pitfalls = vec![title.to_owned()];
    for step in &mut run.study.steps {
        title.clone_into(&mut step.why);
    }
    let arms = judgement.arms.iter_mut().map(|arm| &mut arm.title);
    let steps = judgement.steps.iter_mut().map(|step| &mut step.title);
    let curves = judgement.latency.iter_mut().map(|curve| &mut curve.title);
    for text in arms.chain(steps).chain(curves) {
        title.clone_into(text);
    }
    judgement.doubts.push(Doubt::LeverSkipped {
        lever: title.to_owned(),
        reason: title.to_owned(),
    });
    rendered(&run, &judgement)
}
