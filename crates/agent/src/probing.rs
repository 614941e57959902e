//! Measures what this machine can do at most, by probes that take a few milliseconds per round.

use std::path::Path;

use machine::probes::quick::{self, ProbePlace};
use model::ceiling::ProbeValues;
use model::message::ProbeAsk;

use crate::wires::OwnWires;

const ROUNDS: u32 = 10;

/// Values of probes by their names, without those that cannot be measured here. `program` is
/// Linerate.
pub(crate) fn values(ask: &ProbeAsk, program: &Path) -> ProbeValues {
    let Ok(cpus) = sys::cpu::allowed() else {
        return ProbeValues::new();
    };
    let place = ProbePlace {
        cpus: &cpus,
        folder: &std::env::temp_dir(),
        wires: &OwnWires::of(program.to_owned()),
        far: None,
    };
    let names: Vec<&str> = ask.names.iter().map(String::as_str).collect();
    let measured = quick::measure_these(place, ask.seed, &names, ROUNDS).unwrap_or_default();
    let values = measured
        .into_iter()
        .map(|it| (it.name.to_owned(), it.values));
    values.filter(|(_, values)| !values.is_empty()).collect()
}
