//! Two runs side by side as one JSON value; docs/schema/study-compare.json has its shape.

use model::{Estimate, Judgement, RunRecord};
use serde_json::{Value, json};

use super::{CompareError, caution, refuse_strangers};

/// The version of this shape.
const FORMAT: u32 = 1;

/// The figures of run `a` and run `b` side by side, and why they bear no verdict.
///
/// # Errors
/// When the runs are not of one study on one rig.
pub fn value(
    a: (&RunRecord, &Judgement),
    b: (&RunRecord, &Judgement),
) -> Result<Value, CompareError> {
    refuse_strangers(a.0, b.0)?;
    let arms = a.1.arms.iter().map(|mine| {
        let theirs = b.1.arms.iter().find(|arm| arm.name == mine.name);
        let side_by_side = |of: fn(&model::judgement::ArmResult) -> Option<Estimate>| {
            pair(of(mine), theirs.and_then(of))
        };
        json!({
            "name": mine.name,
            "title": mine.title,
            "server_cpu_us_per_request": side_by_side(|arm| arm.server_cpu_us_per_request),
            "throughput_rps": side_by_side(|arm| arm.throughput_rps),
        })
    });
    Ok(json!({
        "format": FORMAT,
        "study": a.0.study.name,
        "a": run(a.0),
        "b": run(b.0),
        "arms": arms.collect::<Vec<_>>(),
        "caution": caution(a, b),
    }))
}

/// When and where a run was made.
pub(crate) fn run<S, A>(record: &RunRecord<S, A>) -> Value {
    json!({
        "started_utc": record.started_utc,
        "command": record.command,
        "linerate_version": record.linerate_version,
        "cpu_model": record.facts.cpu_model,
        "cpus_online": record.facts.cpus_online,
        "kernel_release": record.facts.kernel_release,
    })
}

fn pair(a: Option<Estimate>, b: Option<Estimate>) -> Value {
    json!({
        "a": a,
        "b": b,
        "ratio": a.zip(b).map(|(a, b)| b.value / a.value),
    })
}
