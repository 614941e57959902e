//! Made-up factorial runs, judged: one for each thing that can be asked.

use judge::judge_commands;
use model::command_run::{CommandArm, CommandBlock, Evidence, EvidencePiece};
use model::command_study::{MetricSource, MetricSpec, PublishedFigure};
use model::judgement::{FactorialJudgement, Levels};
use model::run::ProgramRecord;
use model::{CommandRun, Doubt};

use crate::built_commands::{Questions, block, run};

/// A run with its blocks, judgement and evidence.
pub(crate) struct MadeUp {
    pub(crate) run: CommandRun,
    pub(crate) blocks: Vec<CommandBlock>,
    pub(crate) judgement: FactorialJudgement,
    pub(crate) evidence: Evidence,
}

impl MadeUp {
    /// Judges the blocks of a run in which each arm takes the µs that `cost` gives it, give or
    /// take the share `noise`. `change` is applied to each block first.
    pub(crate) fn of(
        run: CommandRun,
        noise: f64,
        cost: impl Fn(&str) -> f64,
        change: impl Fn(&mut CommandBlock),
    ) -> Self {
        let mut blocks = blocks(&run, noise, cost);
        blocks.iter_mut().for_each(change);
        Self {
            judgement: judge_commands(&run, &blocks),
            run,
            blocks,
            evidence: Evidence::default(),
        }
    }

    pub(crate) fn page(&self) -> String {
        let Self {
            run,
            blocks,
            judgement,
            evidence,
        } = self;
        report::html::render_factorial(run, blocks, judgement, evidence)
    }
}

fn blocks(run: &CommandRun, noise: f64, cost: impl Fn(&str) -> f64) -> Vec<CommandBlock> {
    let mut blocks = Vec::new();
    for round in 0..run.study.design.rounds {
        for (position, arm) in (0_u32..).zip(&run.arms) {
            let name = match arm.against.as_deref() {
                Some(baseline) if arm.name == "control" => baseline,
                _ => &arm.name,
            };
            let wobble = f64::from((round * 31 + position * 17) % 23) / 11.5 - 1.0;
            let time_ns = cost(name) * 1e3 * (1.0 + noise * wobble);
            let mut block = block(round, position, &arm.name, time_ns);
            block.at_ms = blocks.len() as u64 * 350;
            blocks.push(block);
        }
    }
    blocks
}

/// Gives a factor and its levels the titles of a real study.
fn title(run: &mut CommandRun, factor: &str, title: &str, levels: &[&str]) {
    let mut factors = run.study.factors.iter_mut();
    let factor = factors
        .find(|one| one.name == factor)
        .expect("the run has it");
    title.clone_into(&mut factor.title);
    for (level, title) in factor.levels.iter_mut().zip(levels) {
        (*title).clone_into(&mut level.title);
    }
}

/// Gives every arm the title of its levels.
fn name_arms(run: &mut CommandRun) {
    let factors = run.study.factors.clone();
    let titled = |arm: &CommandArm| {
        let titles = factors
            .iter()
            .filter_map(|factor| Some(factor.level(arm.levels.get(&factor.name)?)?.title.clone()));
        titles.collect::<Vec<_>>().join(", ")
    };
    for arm in &mut run.arms {
        arm.title = titled(arm);
    }
}

fn worded(mut run: CommandRun, name: &str, question: &str) -> CommandRun {
    name.clone_into(&mut run.study.name);
    question.clone_into(&mut run.study.title);
    question.clone_into(&mut run.study.question);
    run.study.method =
        "Every combination of levels is built once, then run once in each round.".to_owned();
    run.study.pitfalls = vec!["The minimum of many calls is not what a program sees.".to_owned()];
    "one call of compute()".clone_into(&mut run.study.metrics[0].title);
    run.programs = vec![ProgramRecord {
        sha256: None,
        name: "gcc".to_owned(),
        title: "GCC".to_owned(),
        version: "12.2.0".to_owned(),
    }];
    name_arms(&mut run);
    run
}

/// Two versions by compiler and optimisation, before anything was measured.
pub(crate) fn versions() -> CommandRun {
    let factors = [
        ("compiler", &["gcc", "clang"][..]),
        ("options", &["o0", "o2", "native"][..]),
        ("version", &["multiply", "add"][..]),
    ];
    let mut run = run(&factors, Questions::comparing("version"), 16);
    let versions = ["A: multiply for each element", "B: add to the one before"];
    title(&mut run, "version", "Version", &versions);
    title(&mut run, "compiler", "Compiler", &["GCC", "Clang"]);
    title(
        &mut run,
        "options",
        "Options",
        &["-O0", "-O2", "-O3 -march=native"],
    );
    run.study.published = [
        ("multiply", "o0", 1_092_000.0),
        ("add", "o0", 2_703_000.0),
        ("multiply", "o2", 405_858.0),
        ("add", "o2", 791_652.0),
    ]
    .map(|(version, options, value)| PublishedFigure {
        levels: levels(&[
            ("version", version),
            ("options", options),
            ("compiler", "gcc"),
        ]),
        against: None,
        metric: "time_ns".to_owned(),
        value,
        at_least: None,
        at_most: None,
        machine: "Core i7-8750H".to_owned(),
        note: String::new(),
    })
    .to_vec();
    worded(
        run,
        "strength-reduction",
        "Why are two additions slower than two multiplications?",
    )
}

/// The ratio that an article gives for one version of Python against another.
pub(crate) fn published_ratio(of: &[(&str, &str)], against: &str, value: f64) -> PublishedFigure {
    PublishedFigure {
        levels: levels(of),
        against: Some(levels(&[("python", against)])),
        metric: "time_ns".to_owned(),
        value,
        at_least: None,
        at_most: None,
        machine: "another".to_owned(),
        note: String::new(),
    }
}

fn levels(of: &[(&str, &str)]) -> Levels {
    let owned = |(factor, level): &(&str, &str)| ((*factor).to_owned(), (*level).to_owned());
    of.iter().map(owned).collect()
}

/// Time that a version takes, µs: B is slower everywhere, most where vectors help A.
pub(crate) fn version_cost(arm: &str) -> f64 {
    match arm {
        "gcc.o0.multiply" | "clang.o0.multiply" => 1416.0,
        "gcc.o0.add" | "clang.o0.add" => 3291.0,
        "gcc.o2.multiply" | "clang.o2.multiply" => 304.0,
        "gcc.native.multiply" => 147.0,
        "clang.native.multiply" => 151.0,
        _ => 812.0,
    }
}

/// The whole study of versions, with a listing.
pub(crate) fn strength() -> MadeUp {
    let mut made = MadeUp::of(versions(), 0.01, version_cost, |_| ());
    made.evidence.pieces.push(EvidencePiece {
        title: "The inner loop of A, gcc -O2".to_owned(),
        command: "objdump -d DIR/table-gcc-o2".to_owned(),
        end: model::command::CommandEnd::Exited(0),
        output: "  paddd  %xmm5,%xmm1\n  cvtdq2pd %xmm0,%xmm2\n  mulpd  %xmm3,%xmm2".to_owned(),
        lines_left_out: 12,
        counts: [("mulpd".to_owned(), 4)].into(),
    });
    made
}

/// Two settings that only pay together.
pub(crate) fn settings(costs: [f64; 4]) -> MadeUp {
    let asked = Questions {
        interaction: Some(["cache", "watcher"]),
        ..Questions::comparing("watcher")
    };
    let factors = [
        ("cache", &["off", "on"][..]),
        ("watcher", &["off", "on"][..]),
    ];
    let mut run = run(&factors, asked, 16);
    title(&mut run, "cache", "Untracked cache", &["off", "on"]);
    title(&mut run, "watcher", "File system monitor", &["off", "on"]);
    let mut run = worded(run, "git-status", "Can a monitor make git status fast?");
    "git status".clone_into(&mut run.study.metrics[0].title);
    MadeUp::of(
        run,
        0.01,
        |arm| match arm {
            "off.on" => costs[1],
            "on.off" => costs[2],
            "on.on" => costs[3],
            _ => costs[0],
        },
        |_| (),
    )
}

/// Three interpreters over some benchmarks.
pub(crate) fn benchmarks() -> MadeUp {
    let asked = Questions {
        mean_over: Some("benchmark"),
        ..Questions::comparing("python")
    };
    let factors = [
        ("benchmark", &["chaos", "coverage", "deltablue", "json"][..]),
        ("python", &["old", "new", "newest"][..]),
    ];
    let mut run = run(&factors, asked, 16);
    title(&mut run, "python", "Interpreter", &["3.10", "3.11", "3.12"]);
    title(
        &mut run,
        "benchmark",
        "Benchmarks",
        &["chaos", "coverage", "deltablue", "json_dumps"],
    );
    let mut run = worded(run, "python", "How much faster is each interpreter?");
    "run time".clone_into(&mut run.study.metrics[0].title);
    run.study.published = vec![
        published_ratio(&[("python", "new")], "old", 0.8),
        published_ratio(&[("python", "new"), ("benchmark", "coverage")], "old", 4.21),
        published_ratio(&[("python", "newest"), ("benchmark", "absent")], "old", 0.5),
    ];
    let cost = |arm: &str| match arm {
        "coverage.new" => 4210.0,
        "coverage.newest" => 2200.0,
        _ if arm.ends_with(".new") => 780.0,
        _ if arm.ends_with(".newest") => 720.0,
        _ => 1000.0,
    };
    MadeUp::of(run, 0.02, cost, |_| ())
}

/// A time that rises in steps with a size, and what was predicted.
pub(crate) fn sizes() -> MadeUp {
    let asked = Questions {
        against: "previous",
        ..Questions::comparing("size")
    };
    let names: &[&str] = &[
        "10000", "14480", "14481", "28000", "43440", "43441", "60000",
    ];
    let factors = [("delay", &["50", "150"][..]), ("size", names)];
    let mut run = run(&factors, asked, 16);
    title(&mut run, "size", "Size", names);
    title(
        &mut run,
        "delay",
        "Delay",
        &["50 ms each way", "150 ms each way"],
    );
    let mut run = worded(
        run,
        "page-size",
        "Does a page of 14 kB load faster than one of 15 kB?",
    );
    "time to the last byte".clone_into(&mut run.study.metrics[0].title);
    run.study.metrics.push(MetricSpec {
        name: "predicted_time_ns".to_owned(),
        title: "predicted time".to_owned(),
        unit: "ns".to_owned(),
        better: run.study.metrics[0].better,
        from: MetricSource::Json("/predicted".to_owned()),
        optional: false,
    });
    let trips = |arm: &str| {
        let (delay, size) = arm.split_once('.').expect("two levels");
        let size: u32 = size.parse().expect("a number");
        let delay: f64 = delay.parse().expect("a number");
        let trips = 1.0 + f64::from(u8::from(size > 14_480)) + f64::from(u8::from(size > 43_440));
        trips * 2e3 * delay
    };
    MadeUp::of(
        run,
        0.005,
        |arm| trips(arm) * 1.02,
        |block| {
            let arm = if block.arm == "control" {
                "50.10000"
            } else {
                &block.arm
            };
            let predicted = trips(arm) * 1e3;
            block
                .reading
                .values
                .insert("predicted_time_ns".to_owned(), predicted);
        },
    )
}

/// The study of versions with `text` for every title, and for what listings and versions say.
pub(crate) fn titled(text: &str) -> MadeUp {
    let mut made = strength();
    let run = &mut made.run;
    for word in [
        &mut run.study.title,
        &mut run.study.question,
        &mut run.study.method,
        &mut run.facts.cpu_model,
        &mut run.command,
        &mut run.programs[0].version,
        &mut run.study.workload.run[0],
    ] {
        text.clone_into(word);
    }
    for factor in &mut run.study.factors {
        text.clone_into(&mut factor.title);
        for level in &mut factor.levels {
            text.clone_into(&mut level.title);
        }
    }
    for figure in &mut run.study.published {
        text.clone_into(&mut figure.machine);
        text.clone_into(&mut figure.note);
    }
    for metric in &mut made.judgement.metrics {
        text.clone_into(&mut metric.title);
        text.clone_into(&mut metric.unit);
    }
    let piece = &mut made.evidence.pieces[0];
    for word in [&mut piece.title, &mut piece.command, &mut piece.output] {
        text.clone_into(word);
    }
    made.judgement.doubts.push(Doubt::LeverSkipped {
        lever: text.to_owned(),
        reason: text.to_owned(),
    });
    made
}
