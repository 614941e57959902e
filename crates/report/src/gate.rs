//! The answer of a gate between two commits.

use model::gate::{GateResult, Passage, Unit, Untold};
use model::judgement::Outcome;
use model::{Judgement, RunRecord};

use crate::numbers;

/// Whether the second commit passes, in a sentence or two.
pub(crate) fn sentence(run: &RunRecord, judgement: &Judgement, gate: &GateResult) -> String {
    let base = &run.study.baseline.title;
    let head = judgement
        .steps
        .first()
        .map_or("the other", |step| &step.title);
    let (bar, noun) = (numbers::share(gate.bar), noun(gate.unit));
    let cost = gate.cost.as_ref().map(|cost| {
        let change = numbers::effect(cost);
        match judgement.outcome {
            Outcome::ServerCpuPerRequest | Outcome::ServerCpuPerKilobyte => {
                format!("the CPU time of {noun} changes by {change}")
            }
            Outcome::Throughput => {
                format!("the time of {noun} changes by {change}, by the measured throughput")
            }
        }
    });
    match (gate.passage, cost) {
        (Passage::Passes, Some(cost)) => {
            format!("{head} passes: against {base}, {cost}; the whole interval is below +{bar}.")
        }
        (Passage::Slower, Some(cost)) => {
            format!("{head} is slower than {base}: {cost}; the whole interval is beyond +{bar}.")
        }
        (_, cost) => format!(
            "Cannot tell whether {head} is slower than {base} by more than {bar}{}. {}",
            cost.map_or_else(String::new, |cost| format!(": {cost}")),
            why(gate, judgement)
        ),
    }
}

/// Says how far apart two builds of one commit may lie here.
pub(crate) fn floor(gate: &GateResult) -> Option<String> {
    let floor = numbers::share(gate.floor?);
    Some(format!(
        "The floor: judging by how far builds of one commit lie apart here, the change may be off by {floor}, and its \
         interval is at least that wide to either side."
    ))
}

pub(crate) fn noun(unit: Unit) -> &'static str {
    match unit {
        Unit::Request => "a request",
        Unit::Run => "a run",
    }
}

/// Says why the gate cannot tell, and what it would take to tell.
fn why(gate: &GateResult, judgement: &Judgement) -> String {
    let done = judgement.rounds_done;
    match gate.untold.unwrap_or(Untold::BarWithin) {
        Untold::BarWithin => what_it_takes(gate),
        Untold::NothingMeasured => format!(
            "None of the {done} measured rounds has a figure for each build: let the gate run to its end, or see in \
             the doubts what was lost."
        ),
        Untold::FewRounds { rounds, needed } if done < needed => format!(
            "{rounds} rounds were measured, and a verdict takes {needed}: let the gate run to its end, with --rounds {needed} \
             or more, or with --for instead."
        ),
        Untold::FewRounds { rounds, needed } => format!(
            "{rounds} of {done} rounds have a figure for each build, and a verdict takes {needed}: see what the others \
             lack, and measure again."
        ),
        Untold::Failures {
            base_share,
            head_share,
        } => format!(
            "{} of the requests to BASE and {} of those to HEAD failed, and a failure does not cost what an answer \
             does: see why the server fails under this load, or give it fewer --connections.",
            numbers::share(base_share),
            numbers::share(head_share)
        ),
        Untold::ClientIsLimit => {
            "The CPU time of the servers is hidden, and the client was the limit of their rate: run the gate as a user who may \
             see their processes."
                .to_owned()
        }
    }
}

fn what_it_takes(gate: &GateResult) -> String {
    match (gate.rounds_needed, gate.builds_needed) {
        (Some(rounds), _) => format!(
            "If nothing changes, about {} rounds would decide it: give more time with --for, or use a quieter machine.",
            numbers::whole(f64::from(rounds))
        ),
        (None, Some(builds)) => format!(
            "Builds of one commit lie too far apart here for this few of them: --builds {builds} might decide it."
        ),
        (None, None) => {
            "If nothing changes, no number of rounds or builds would decide it: give another --fail-if-slower, or use a \
             quieter machine."
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Effect;

    use super::*;
    use crate::sample;

    fn gate() -> GateResult {
        let cost = Effect {
            ratio: 1.2,
            low: 1.1,
            high: 1.3,
            n: 8,
            alpha: 0.05,
            p_value: 0.01,
        };
        GateResult {
            passage: Passage::CannotTell,
            untold: None,
            bar: 0.03,
            unit: Unit::Request,
            cost: Some(cost),
            floor: None,
            rounds_needed: None,
            builds_needed: None,
        }
    }

    #[test]
    fn where_cpu_time_is_hidden_the_cost_is_of_the_time_that_was_seen() {
        let of = |outcome| {
            let judgement = Judgement {
                outcome,
                ..sample::judgement()
            };
            sentence(&sample::run(), &judgement, &gate())
        };
        let cpu = of(Outcome::ServerCpuPerRequest);
        assert!(
            cpu.contains("the CPU time of a request changes by +20.0 % (+10.0 … +30.0)"),
            "{cpu}"
        );
        let seen = of(Outcome::Throughput);
        assert!(
            seen.contains(
                "the time of a request changes by +20.0 % (+10.0 … +30.0), by the measured"
            ),
            "{seen}"
        );
        assert!(!seen.contains("CPU time"), "{seen}");
    }

    #[test]
    fn what_cannot_be_told_says_why_and_what_it_takes() {
        let gate = gate();
        let said = |gate: GateResult, rounds_done| {
            let judgement = Judgement {
                rounds_done,
                ..sample::judgement()
            };
            sentence(&sample::run(), &judgement, &gate)
        };
        let failures = Untold::Failures {
            base_share: 0.0,
            head_share: 0.02,
        };
        let few = |rounds, needed| Untold::FewRounds { rounds, needed };
        for (untold, rounds_done, part) in [
            (Untold::BarWithin, 16, "give another --fail-if-slower"),
            (
                Untold::NothingMeasured,
                0,
                "None of the 0 measured rounds has a figure",
            ),
            (
                few(8, 10),
                8,
                "8 rounds were measured, and a verdict takes 10",
            ),
            (
                few(12, 15),
                20,
                "12 of 20 rounds have a figure for each build",
            ),
            (
                failures,
                16,
                "0.0 % of the requests to BASE and 2.0 % of those to HEAD failed",
            ),
            (Untold::ClientIsLimit, 16, "the client was the limit"),
        ] {
            let untold = Some(untold);
            let said = said(GateResult { untold, ..gate }, rounds_done);
            assert!(said.starts_with("Cannot tell whether "), "{said}");
            assert!(said.contains(part), "{part} is missing in {said}");
        }
        let rounds_needed = Some(40);
        let more = said(
            GateResult {
                rounds_needed,
                ..gate
            },
            16,
        );
        assert!(more.contains("about 40 rounds would decide it"), "{more}");
    }
}
