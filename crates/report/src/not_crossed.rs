//! The article's steps that a run did not take. Published figures include the gains of these steps,
//! so the steps are listed wherever the two are set side by side.

use model::{Judgement, RunRecord};

use crate::rows::is_beside;
use crate::{between_boots, numbers};

/// Lists the article's steps that the study leaves out, and those that this machine refused.
pub(crate) fn not_crossed(run: &RunRecord, judgement: &Judgement) -> Vec<String> {
    let Some(source) = &run.study.source else {
        return Vec::new();
    };
    let described = |title: &str, gain: Option<f64>, why: &str| match gain {
        Some(gain) => format!("{title} ({}): {why}", numbers::published_gain(gain)),
        None => format!("{title}: {why}"),
    };
    let left_out = source.not_crossed.iter();
    let left_out = left_out.map(|step| described(&step.title, step.gain, &step.why));
    let is_run = |name: &str| run.arms.iter().any(|arm| arm.name == name);
    let refused = run.study.steps.iter().filter(|step| !is_run(&step.name));
    let refused = refused.map(|step| {
        let gain = step.published.and_then(|beside| beside.gain);
        described(&step.title, gain, &why(run, judgement, &step.name))
    });
    left_out.chain(refused).collect()
}

/// Says why a step was refused. Older runs say it only among their doubts.
fn why(run: &RunRecord, judgement: &Judgement, step: &str) -> String {
    let Some(left_out) = run.left_out.iter().find(|left_out| left_out.step == step) else {
        return "this machine refuses it, as the doubts say".to_owned();
    };
    let bound = bound(run, judgement).filter(|_| left_out.of_the_boot);
    let bound = bound.map(|bound| format!("a rough bound: {bound}"));
    let estimated = between_boots::estimated(judgement, step);
    let why = estimated.unwrap_or_else(|| left_out.why.clone());
    let all: Vec<String> = std::iter::once(why).chain(bound).collect();
    all.join("; ")
}

/// Estimates the most that a change of the kernel alone could save in the last state: the kernel's
/// part of a request (Amdahl), taken to be at most the cost of a bare echo. `None` for services:
/// only our own server makes the system calls of the echo and few others.
fn bound(run: &RunRecord, judgement: &Judgement) -> Option<String> {
    if run.service.is_some() {
        return None;
    }
    let mut climbed = judgement.arms.iter().rev();
    let last = climbed.find(|arm| !is_beside(arm.role))?;
    let share = last.share_of_floor?;
    Some(format!(
        "at most about {} of the server CPU per request of the last state, since a bare echo costs \
         that much, and the kernel's part is about the same",
        numbers::share(share.high.min(1.0))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn steps_that_the_study_leaves_out_stand_before_those_that_the_machine_refused() {
        let mut run = sample::run();
        run.arms.retain(|arm| arm.name != "conntrack");
        let found = not_crossed(&run, &sample::judgement());
        let leads: Vec<&str> = found
            .iter()
            .filter_map(|step| step.split(':').next())
            .collect();
        let expected = [
            "mitigations of speculative execution off (+28 %)",
            "no connection tracking",
        ];
        assert_eq!(leads, expected);
    }

    #[test]
    fn without_an_article_there_is_nothing_to_leave_out() {
        let mut run = sample::run();
        run.study.source = None;
        assert!(not_crossed(&run, &sample::judgement()).is_empty());
    }
}
