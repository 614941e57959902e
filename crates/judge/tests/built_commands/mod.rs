//! Factorial runs as they are saved, built without running anything.

use model::command::{CommandEnd, CommandReading};
use model::command_run::{CommandArm, CommandBlock, CommandRun, Measured};
use model::facts::{Facts, Watched};
use serde_json::{Value, json};

/// A factor and its levels.
pub(crate) type Factor = (&'static str, &'static [&'static str]);

/// The questions that a study asks about its factors.
#[derive(Clone, Copy)]
pub(crate) struct Questions {
    pub(crate) compare: &'static str,
    pub(crate) against: &'static str,
    pub(crate) interaction: Option<[&'static str; 2]>,
    pub(crate) mean_over: Option<&'static str>,
}

impl Questions {
    pub(crate) const fn comparing(compare: &'static str) -> Self {
        Self {
            compare,
            against: "first",
            interaction: None,
            mean_over: None,
        }
    }
}

/// A run of every combination of levels, with a control, a smallest effect of 3 % and the metrics
/// `time_ns`, by which verdicts are reached, and `count`.
pub(crate) fn run(factors: &[Factor], asked: Questions, rounds: u32) -> CommandRun {
    let metric = |name: &str, unit: &str| {
        json!({ "name": name, "title": name, "unit": unit, "better": "lower",
                "from": { "json": format!("/{name}") } })
    };
    let factor = |(name, levels): &Factor| {
        let levels = levels
            .iter()
            .map(|level| json!({ "name": level, "title": level }));
        json!({ "name": name, "title": name, "level": levels.collect::<Vec<_>>() })
    };
    let run = json!({
        "format": 1, "linerate_version": "0", "started_utc": "2026-01-01T00:00:00Z",
        "command": "linerate", "seed": 1,
        "study": {
            "format": 1, "name": "built", "title": "", "question": "", "method": "",
            "design": {
                "kind": "factorial", "rounds": rounds, "smallest_effect": 0.03,
                "compare": asked.compare, "against": asked.against,
                "interaction": asked.interaction, "mean_over": asked.mean_over,
            },
            "workload": { "kind": "command", "run": ["true"], "timeout_s": 1 },
            "factor": factors.iter().map(factor).collect::<Vec<_>>(),
            "metric": [metric("time_ns", "ns"), metric("count", "times")],
        },
        "arms": [],
        "rig": { "loopback": { "reason": null } },
        "facts": Facts { cpus_online: 2, ..Facts::default() },
        "watched": Watched::default(),
        "doubts": [],
    });
    let mut run: CommandRun =
        serde_json::from_value(run).expect("the run has the shape in which runs are saved");
    run.arms = arms(factors, asked);
    run
}

/// One arm for every combination; the first factor changes slowest. The first arm is the baseline,
/// and the control comes second.
fn arms(factors: &[Factor], asked: Questions) -> Vec<CommandArm> {
    let mut combinations: Vec<Vec<(&str, usize)>> = vec![vec![]];
    for (name, levels) in factors {
        let longer = |combination: Vec<(&'static str, usize)>| {
            let with = move |level| [combination.clone(), vec![(*name, level)]].concat();
            (0..levels.len()).map(with)
        };
        combinations = combinations.into_iter().flat_map(longer).collect();
    }
    let arm = |combination: &Vec<(&str, usize)>| named(factors, asked, combination);
    let mut arms: Vec<Value> = combinations.iter().map(arm).collect();
    arms[0]["role"] = json!("baseline");
    let mut control = arms[0].clone();
    control["name"] = json!("control");
    control["role"] = json!("control");
    control["against"] = arms[0]["name"].clone();
    arms.insert(1, control);
    serde_json::from_value(json!(arms)).expect("the arms have the shape in which they are saved")
}

fn named(factors: &[Factor], asked: Questions, combination: &[(&str, usize)]) -> Value {
    let words = |combination: &[(&str, usize)]| -> Vec<&str> {
        let of = factors.iter().zip(combination);
        of.map(|((_, levels), (_, level))| levels[*level]).collect()
    };
    let mut reference = combination.to_vec();
    let compared = reference
        .iter_mut()
        .find(|(name, _)| *name == asked.compare);
    let level = &mut compared.expect("the compared factor is one of them").1;
    let is_first = *level == 0;
    *level = if asked.against == "first" {
        0
    } else {
        level.saturating_sub(1)
    };
    let levels = combination.iter().zip(words(combination));
    let levels: serde_json::Map<String, Value> = levels
        .map(|((name, _), word)| ((*name).to_owned(), json!(word)))
        .collect();
    json!({
        "name": words(combination).join("."), "title": words(combination).join(", "),
        "role": "step", "levels": levels,
        "against": (!is_first).then(|| words(&reference).join(".")),
    })
}

/// A run of the command that ended well and printed a time and a count.
#[expect(
    clippy::cast_possible_truncation,
    reason = "nanoseconds of a made-up run"
)]
pub(crate) fn block(round: u32, position: u32, arm: &str, time_ns: f64) -> CommandBlock {
    let values = [("time_ns", time_ns), ("count", 7.0)];
    let reading = Measured {
        values: values.map(|(name, value)| (name.to_owned(), value)).into(),
        command: CommandReading {
            wall_ns: (time_ns * 2.0) as u64,
            user_ns: (time_ns * 1.5) as u64,
            system_ns: 100,
            peak_memory_bytes: 5_000_000,
            machine: None,
            end: CommandEnd::Exited(0),
            left_running: false,
            last_words: String::new(),
        },
        failed: None,
        agreed: None,
        meanwhile: None,
        doubts: vec![],
    };
    CommandBlock {
        phase: model::run::Phase::Command,
        epoch: 0,
        round,
        position,
        arm: arm.to_owned(),
        at_ms: 0,
        reading,
    }
}
