//! Sentences that accompany the answer on every page, in the same words.

use model::gate::Unit;
use model::judgement::{LatencyResult, Outcome, QuantileEstimate, SequentialError, Together};
use model::run::Rig;
use model::service::ServiceRecord;
use model::study::DesignKind;
use model::{Doubt, Effect, Judgement, RunRecord, Verdict};

use crate::{link, numbers};

/// What the verdicts are about, as a noun.
pub(crate) fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::ServerCpuPerRequest => "server CPU per request",
        Outcome::ServerCpuPerKilobyte => "server CPU per kB carried",
        Outcome::Throughput => "throughput",
    }
}

/// What the verdicts of a run are about, as a noun. A gate of commands counts runs, and nothing
/// serves them.
pub(crate) fn outcome_of(run: &RunRecord, outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::ServerCpuPerRequest if unit(run) == "run" => "CPU per run",
        _ => outcome_name(outcome),
    }
}

/// Says that the target's CPU time could not be read; `None` if it could.
pub(crate) fn hidden_cpu(judgement: &Judgement) -> Option<&'static str> {
    (judgement.outcome == Outcome::Throughput).then_some(
        "Server CPU time is hidden here, so verdicts are about the measured throughput, \
         which the client helps to limit.",
    )
}

/// Says whose CPUs the account of the whole machine covers.
pub(crate) fn whole_machine(run: &RunRecord) -> &'static str {
    match &run.client {
        Some(client) if !client.same_machine => "the server's whole host",
        _ => "whole machine",
    }
}

/// Says which arm each step is measured against.
pub(crate) fn compared_with(run: &RunRecord) -> &'static str {
    match run.study.design.kind {
        DesignKind::Ladder => "the step before",
        DesignKind::Compare if run.study.steps.iter().any(|step| step.against.is_some()) => {
            "its reference"
        }
        DesignKind::Compare => "the baseline",
    }
}

/// Names the programs under test, if they are not our own server.
pub(crate) fn under_test(run: &RunRecord) -> Option<String> {
    let all = run.service.iter().chain(&run.own_services);
    let all: Vec<String> = all.map(found).collect();
    match all.as_slice() {
        [] => None,
        [one] => Some(format!(
            "Program under test: {one}, configured by the service file with that SHA-256."
        )),
        many => Some(format!(
            "Programs under test: {}, each configured by the service file with its SHA-256.",
            many.join(", ")
        )),
    }
}

/// Names a service with its hash, and with that of its program if it is known:
/// `nginx 1.22.1 (SHA-256 0123456789ab…)`.
fn found(service: &ServiceRecord) -> String {
    let short = |sha256: &str| sha256.get(..12).unwrap_or(sha256).to_owned();
    let program = service.program_sha256.as_deref();
    let program = program.map(|sha256| format!(", program {}…", short(sha256)));
    format!(
        "{} {} (SHA-256 {}…{})",
        service.description.title,
        service.version,
        short(&service.sha256),
        program.unwrap_or_default()
    )
}

/// The unit of work: a request, in a gate of commands a run, and on a watched server a kilobyte
/// that its connections carried.
pub(crate) fn unit(run: &RunRecord) -> &'static str {
    match &run.study.gate {
        Some(gate) if gate.unit == Unit::Run => "run",
        _ if run.is_watched() => "kB carried",
        _ => "request",
    }
}

/// Heading for the number of units per second.
pub(crate) fn rate_of(unit: &str) -> String {
    match unit {
        "kB carried" => "kB/s carried".to_owned(),
        _ => format!("{unit}s/s seen"),
    }
}

/// The unit of work whose cost a verdict is about.
pub(crate) fn unit_of(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::ServerCpuPerKilobyte => "kB carried",
        Outcome::ServerCpuPerRequest | Outcome::Throughput => "request",
    }
}

/// Names what is under test, in the plural: `servers`, `nginx servers`, or for a gate `builds`.
pub(crate) fn servers(run: &RunRecord) -> String {
    if run.study.gate.is_some() {
        return "builds".to_owned();
    }
    run.service.as_ref().map_or_else(
        || "servers".to_owned(),
        |service| format!("{} servers", service.description.title),
    )
}

/// Says how far two identical servers seem apart.
pub(crate) fn noise_floor(run: &RunRecord, judgement: &Judgement) -> Option<String> {
    let effect = noise(judgement)?;
    Some(format!(
        "Two identical {} differ here by {} % (n = {} pairs).",
        servers(run),
        spread(&effect),
        effect.n
    ))
}

/// The control's effect, if there are enough pairs to judge it and to bound it.
pub(crate) fn noise(judgement: &Judgement) -> Option<Effect> {
    let control = judgement.control.as_ref()?;
    let differs = |doubt: &Doubt| matches!(doubt, Doubt::ControlDiffers { .. });
    let is_judged = control.verdict != Verdict::Invalid || judgement.doubts.iter().any(differs);
    control
        .effect
        .filter(|effect| is_judged && is_bounded(effect))
}

/// Whether an interval is bounded at both ends.
pub(crate) fn is_bounded(effect: &Effect) -> bool {
    effect.low > 0.0 && effect.high.is_finite()
}

/// An interval of changes without spaces: `−0.4…+0.6`.
pub(crate) fn spread(effect: &Effect) -> String {
    numbers::change_interval(effect).replace(" … ", "…")
}

/// Says what change these pairs could have seen.
pub(crate) fn smallest_visible(judgement: &Judgement) -> Option<String> {
    judgement.smallest_visible.map(visible)
}

/// Says that pairs could have seen changes of `share` or more.
pub(crate) fn visible(share: f64) -> String {
    format!(
        "These pairs can detect a change of {} or more, four times in five.",
        numbers::share(share)
    )
}

/// Says what the usual way of measuring would have made of two identical servers.
pub(crate) fn sequential_error(run: &RunRecord, judgement: &Judgement) -> Option<String> {
    judgement
        .sequential
        .map(|found| sequential(&found, &servers(run)))
}

/// Says what the usual way of measuring would have made of two identical things, named `identical`.
pub(crate) fn sequential(found: &SequentialError, identical: &str) -> String {
    let SequentialError {
        n,
        windows,
        declared,
    } = *found;
    let found = match declared {
        0 => "none".to_owned(),
        some => some.to_string(),
    };
    format!(
        "“Run A {n} times, then B {n} times” would have called two identical {identical} different \
         in {found} of {windows} windows of this run."
    )
}

/// `nginx answered 4,100 requests/s (16,400 requests)`.
pub(crate) fn answered(result: &LatencyResult) -> String {
    format!(
        "{} answered {} requests/s ({} requests)",
        result.title,
        numbers::rate(result.achieved_rps),
        numbers::whole(result.requests as f64)
    )
}

/// The latency results under titles that readers know. The title of a ladder's last step says only
/// what that step takes away, but its curve is that of all steps together.
pub(crate) fn latency_for_readers(run: &RunRecord, judgement: &Judgement) -> Vec<LatencyResult> {
    let is_ladder = run.study.design.kind == DesignKind::Ladder;
    let last = judgement.whole.as_ref().filter(|_| is_ladder);
    let mut results = judgement.latency.clone();
    for result in &mut results {
        if last.is_some_and(|last| last.arm == result.arm) {
            "all steps taken".clone_into(&mut result.title);
        }
    }
    results
}

/// The quantiles that the data of at least one arm carry, ascending.
pub(crate) fn carried_quantiles(results: &[LatencyResult]) -> Vec<f64> {
    let longest = results.iter().max_by_key(|result| result.response.len());
    longest.map_or_else(Vec::new, |result| {
        result.response.iter().map(|at| at.quantile).collect()
    })
}

/// A quantile with its interval: `84.2 µs (83.9 … 84.6)`; empty where the data do not carry it.
pub(crate) fn quantile_with_interval(found: &[QuantileEstimate], quantile: f64) -> String {
    at(found, quantile).map_or_else(String::new, |at| {
        numbers::duration_with_interval(at.value_ns, at.low_ns, at.high_ns)
    })
}

/// A quantile without its interval; empty where the data do not carry it.
pub(crate) fn quantile_alone(found: &[QuantileEstimate], quantile: f64) -> String {
    at(found, quantile).map_or_else(String::new, |at| numbers::duration(at.value_ns))
}

fn at(found: &[QuantileEstimate], quantile: f64) -> Option<&QuantileEstimate> {
    found
        .iter()
        .find(|at| (at.quantile - quantile).abs() < 1e-9)
}

/// Describes the hosts of a run under load, and the link between them if it was emulated.
pub(crate) fn hosts_and_link(run: &RunRecord) -> String {
    match &run.study.link {
        None if run.study.gate.is_some() => "this machine, over its own loopback".to_owned(),
        None => rig(&run.rig),
        Some(link) => format!(
            "client and server in a network namespace each, joined by an emulated link: {}",
            link::of_study(link)
        ),
    }
}

/// Says where client and server ran.
pub(crate) fn rig(rig: &Rig) -> String {
    match rig {
        Rig::PrivateNamespace => {
            "client and server in one private network namespace, over its loopback".to_owned()
        }
        Rig::Loopback { reason: None } => {
            "the machine's own loopback; the targets were already running".to_owned()
        }
        Rig::Loopback {
            reason: Some(reason),
        } => format!("the machine's own loopback: {reason}"),
        Rig::Netns => {
            "client and server in a network namespace each, joined by a pair of virtual devices"
                .to_owned()
        }
        Rig::Router => {
            "client and server in a network namespace each, and a third between them that forwards"
                .to_owned()
        }
        Rig::Tunnel => "client and server in a network namespace each, joined by a tunnel over a \
                        third that forwards"
            .to_owned(),
        Rig::Hosts => "client and server on hosts of their own, reached over SSH".to_owned(),
    }
}

/// Says how two changes go together, if a verdict tells.
pub(crate) fn pay_together(found: Together, [one, other]: &[String; 2]) -> Option<String> {
    let how = match found {
        Together::OnlyTogether => "only pay together",
        Together::MoreTogether => "pay more together than apart",
        Together::LessTogether => "pay less together than apart",
        Together::Independent => "do not depend on one another by an amount that matters",
        Together::Inconclusive | Together::Invalid => return None,
    };
    Some(format!("{one} and {other} {how}"))
}

/// Gives too few pairs as a reason.
pub(crate) fn too_few_pairs(doubts: &[Doubt]) -> Option<String> {
    doubts.iter().find_map(|doubt| match doubt {
        Doubt::TooFewPairs { pairs, needed } => Some(format!(
            "there are too few pairs, {pairs} where {needed} are needed"
        )),
        _ => None,
    })
}

/// Joins the counts that are not zero: `6 better, 3 worse`.
pub(crate) fn counts(parts: &[(usize, &str)]) -> String {
    let texts = parts.iter().filter(|(count, _)| *count > 0);
    let texts: Vec<String> = texts
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    texts.join(", ")
}

/// A sentence with a small first letter, for use after a colon.
pub(crate) fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// A sentence with a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_sequential_error_and_the_noise_floor_come_from_this_run() {
        let judgement = sample::judgement();
        assert!(
            sequential_error(&sample::run(), &judgement)
                .unwrap()
                .contains("in 9 of 17 windows")
        );
        let floor = noise_floor(&sample::run(), &judgement).unwrap();
        assert_eq!(
            floor,
            "Two identical servers differ here by −0.4…+0.6 % (n = 16 pairs)."
        );
    }

    #[test]
    fn a_run_without_a_control_says_nothing_of_noise() {
        let mut judgement = sample::judgement();
        judgement.control = None;
        judgement.sequential = None;
        assert_eq!(
            (
                noise_floor(&sample::run(), &judgement),
                sequential_error(&sample::run(), &judgement)
            ),
            (None, None)
        );
    }

    #[test]
    fn noise_that_has_no_bounds_is_not_told() {
        let mut judgement = sample::judgement();
        let control = judgement.control.as_mut().unwrap();
        control.effect.as_mut().unwrap().high = f64::INFINITY;
        assert_eq!(noise_floor(&sample::run(), &judgement), None);
    }
}
