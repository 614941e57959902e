//! Runs as they are saved, built without measuring anything.

use model::run::Phase;
use model::{BlockRecord, Facts, Reading, RunRecord};
use serde_json::{Value, json};

/// A ladder of a baseline, its control and some steps, each against the one before it, with a
/// smallest effect of 3 %.
pub(crate) fn ladder(steps: u32, rounds: u32) -> RunRecord {
    let step = |index: u32| {
        let against = match index {
            1 => "baseline".to_owned(),
            _ => format!("step-{}", index - 1),
        };
        arm(&format!("step-{index}"), "step", Some(&against))
    };
    let mut arms = vec![
        arm("baseline", "baseline", None),
        arm("control", "control", Some("baseline")),
    ];
    arms.extend((1..=steps).map(step));
    with_arms(&arms, rounds)
}

pub(crate) fn arm(name: &str, role: &str, against: Option<&str>) -> Value {
    json!({
        "name": name, "title": name, "role": role, "program": "serve", "levers": [],
        "against": against, "published": null
    })
}

pub(crate) fn with_arms(arms: &[Value], rounds: u32) -> RunRecord {
    let run = json!({
        "format": 1, "linerate_version": "0", "started_utc": "2026-01-01T00:00:00Z",
        "command": "linerate", "seed": 1,
        "study": {
            "format": 1, "name": "built", "title": "", "question": "", "method": "",
            "design": {
                "kind": "ladder", "rounds": rounds, "settle_ms": 50, "score_ms": 500,
                "smallest_effect": 0.03
            },
            "workload": { "path": "/", "connections": 1 },
            "baseline": { "title": "" }
        },
        "arms": arms,
        "rig": "private_namespace",
        "facts": Facts { cpus_online: 2, ..Facts::default() },
        "watched": model::facts::Watched::default(),
        "doubts": []
    });
    serde_json::from_value(run).expect("the run has the shape in which runs are saved")
}

/// A throughput block of half a second, in which each answer cost the server `server_cpu_us`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "nanoseconds of a made-up block"
)]
pub(crate) fn block(round: u32, position: u32, arm: &str, server_cpu_us: f64) -> BlockRecord {
    let answered = 50_000;
    let mut reading = Reading {
        window_ns: 500_000_000,
        answered,
        ..Reading::default()
    };
    reading.ledger.sent = answered;
    reading.ledger.answered = answered;
    reading.cpu.server_ns = Some((server_cpu_us * 1e3 * answered as f64) as u64);
    reading.cpu.client_ns = 250_000_000;
    reading.cpu.client_busy_share = 0.5;
    BlockRecord {
        phase: Phase::Throughput,
        epoch: 0,
        round,
        position,
        arm: arm.to_owned(),
        at_ms: 0,
        reading,
    }
}
