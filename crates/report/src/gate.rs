//! The answer of a gate between two commits.

use model::gate::{GateResult, Passage, Unit};
use model::judgement::StepResult;
use model::{Judgement, RunRecord, Verdict};

use crate::numbers;

/// Whether the second commit passes, in a sentence or two.
pub(crate) fn sentence(run: &RunRecord, judgement: &Judgement, gate: &GateResult) -> String {
    let base = &run.study.baseline.title;
    let head = judgement
        .steps
        .first()
        .map_or("the other", |step| &step.title);
    let (bar, noun) = (numbers::share(gate.bar), noun(gate.unit));
    let Some(cost) = &gate.cost else {
        return format!(
            "Cannot tell whether {head} is slower than {base}: {} of {} rounds were measured.",
            judgement.rounds_done, judgement.rounds_planned
        );
    };
    let change = numbers::effect(cost);
    match gate.passage {
        Passage::Passes => {
            format!(
                "{head} passes: against {base} {noun} costs {change} of CPU time, all of it below +{bar}."
            )
        }
        Passage::Slower => {
            format!(
                "{head} is slower than {base}: {noun} costs {change} of CPU time, all of it beyond +{bar}."
            )
        }
        Passage::CannotTell => format!(
            "Cannot tell whether {head} is slower than {base} by more than {bar}: {noun} costs {change} of CPU time. {}",
            what_it_takes(gate, judgement)
        ),
    }
}

/// How far two builds of one commit may lie apart here.
pub(crate) fn floor(gate: &GateResult) -> Option<String> {
    let floor = numbers::share(gate.floor?);
    Some(format!(
        "The floor: as far as builds of one commit lie apart here, the change may be {floor} off, and its interval is \
         at least so wide to either side."
    ))
}

pub(crate) fn noun(unit: Unit) -> &'static str {
    match unit {
        Unit::Request => "a request",
        Unit::Run => "a run",
    }
}

fn what_it_takes(gate: &GateResult, judgement: &Judgement) -> String {
    let is_void = |step: &StepResult| step.verdict == Verdict::Invalid;
    if judgement.steps.first().is_none_or(is_void) {
        return "There is no verdict; the doubts say why.".to_owned();
    }
    match (gate.rounds_needed, gate.builds_needed) {
        (Some(rounds), _) => format!(
            "If all goes on so, about {} rounds would tell: give more time with --for, or a quieter machine.",
            numbers::whole(f64::from(rounds))
        ),
        (None, Some(builds)) => format!(
            "Builds of one commit lie too far apart here for so few of them: --builds {builds} might tell."
        ),
        (None, None) => {
            "No number of rounds or builds would tell if all goes on so: give another --fail-if-slower, or a quieter \
             machine."
                .to_owned()
        }
    }
}
