//! The article's steps that a run did not take: its published figures hold their gains too, so they
//! stand wherever the two are set side by side.

use model::study::StepSpec;
use model::{Doubt, RunRecord};
use serde::Serialize;

use crate::numbers;

/// A step that the article took and this run did not.
#[derive(Serialize)]
pub(crate) struct NotCrossed {
    pub(crate) title: String,
    /// As the article prints it; empty where it does not.
    pub(crate) gain: String,
    pub(crate) why: String,
}

/// The article's steps that the study leaves out, and those that this machine refused.
pub(crate) fn not_crossed(run: &RunRecord) -> Vec<NotCrossed> {
    let Some(source) = &run.study.source else {
        return Vec::new();
    };
    let shown = |gain: Option<f64>| gain.map(numbers::published_gain).unwrap_or_default();
    let left_out = source.not_crossed.iter().map(|step| NotCrossed {
        title: step.title.clone(),
        gain: shown(step.gain),
        why: step.why.clone(),
    });
    let is_run = |name: &str| run.arms.iter().any(|arm| arm.name == name);
    let refused = run.study.steps.iter().filter(|step| !is_run(&step.name));
    let refused = refused.map(|step| NotCrossed {
        title: step.title.clone(),
        gain: shown(step.published.and_then(|beside| beside.gain)),
        why: why(run, step),
    });
    left_out.chain(refused).collect()
}

/// What was said of the levers of a step that was left out.
fn why(run: &RunRecord, step: &StepSpec) -> String {
    let is_meant = |lever: &str| {
        let mut levers = step.add.iter().chain(&step.take_away);
        levers.any(|setting| setting.to_string() == lever)
    };
    let reasons = run.doubts.iter().filter_map(|doubt| match doubt {
        Doubt::LeverSkipped { lever, reason } if is_meant(lever) => Some(reason.as_str()),
        _ => None,
    });
    let reasons: Vec<&str> = reasons.collect();
    if reasons.is_empty() {
        return "this machine refuses it, as the doubts say".to_owned();
    }
    reasons.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn steps_that_the_study_leaves_out_stand_before_those_that_the_machine_refused() {
        let mut run = sample::run();
        run.arms.retain(|arm| arm.name != "conntrack");
        let found = not_crossed(&run);
        let named: Vec<(&str, &str)> = found
            .iter()
            .map(|step| (step.title.as_str(), step.gain.as_str()))
            .collect();
        assert_eq!(
            named,
            [
                ("mitigations of speculative execution off", "+28 %"),
                ("no connection tracking", "")
            ]
        );
    }

    #[test]
    fn without_an_article_there_is_nothing_to_leave_out() {
        let mut run = sample::run();
        run.study.source = None;
        assert!(not_crossed(&run).is_empty());
    }
}
