//! Whether a commit passes a gate: what it costs, by the whole interval, against a bar.
//!
//! Each round has processes that were started for it, so that what differs between starts is in the interval. What
//! differs between builds is not, as there is one build of each: so the interval is widened by as much as two builds of
//! the first commit came out apart.

use model::Verdict;
use model::gate::{GateDesign, GateResult, Passage};
use model::judgement::{Outcome, StepResult};
use model::verdict::Effect;

/// Judges the second commit by its effect and that of the control.
pub(crate) fn judge(
    design: &GateDesign,
    outcome: Outcome,
    step: Option<&StepResult>,
    control: Option<&StepResult>,
) -> GateResult {
    let cost_of = |result: Option<&StepResult>| result?.effect.map(|effect| cost(effect, outcome));
    let same = cost_of(control);
    let measured = cost_of(step);
    let cost = measured.map(|cost| widened(cost, same.as_ref()));
    let is_void = step.is_none_or(|step| step.verdict == Verdict::Invalid);
    let passage = cost
        .filter(|_| !is_void)
        .map_or(Passage::CannotTell, |cost| passage(&cost, design.bar));
    let rounds_needed = measured
        .filter(|_| passage == Passage::CannotTell && !is_void)
        .and_then(|measured| rounds_needed(&measured, cost.as_ref()?, design.bar));
    GateResult {
        passage,
        bar: design.bar,
        unit: design.unit,
        cost,
        floor: same.map(|same| same.low.ln().abs().max(same.high.ln().abs()).exp_m1()),
        rounds_needed,
    }
}

/// An effect as times the cost, whatever it is of.
fn cost(effect: Effect, outcome: Outcome) -> Effect {
    match outcome {
        Outcome::ServerCpuPerRequest => effect,
        Outcome::Throughput => Effect {
            ratio: effect.ratio.recip(),
            low: effect.high.recip(),
            high: effect.low.recip(),
            ..effect
        },
    }
}

/// The interval with as much more at both ends as two builds of one commit came out apart.
fn widened(cost: Effect, same: Option<&Effect>) -> Effect {
    let apart = same.map_or(1.0, |same| same.ratio.ln().abs().exp());
    Effect {
        low: cost.low / apart,
        high: cost.high * apart,
        ..cost
    }
}

fn passage(cost: &Effect, bar: f64) -> Passage {
    if cost.low > 1.0 + bar {
        Passage::Slower
    } else if cost.high < 1.0 + bar {
        Passage::Passes
    } else {
        Passage::CannotTell
    }
}

/// How many rounds bring the interval clear of the bar if the estimates stay: its width falls with the root of their
/// number, and what two builds lie apart stays.
fn rounds_needed(measured: &Effect, widened: &Effect, bar: f64) -> Option<u32> {
    /// More than anybody waits for.
    const MOST: f64 = 100_000.0;
    let apart = (measured.low / widened.low).ln();
    let room = (measured.ratio / (1.0 + bar)).ln().abs() - apart;
    let half = (measured.high / measured.low).ln() / 2.0;
    let needed = f64::from(measured.n) * (half / room).powi(2);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to the most, as is looked at"
    )]
    let rounds = (room > 0.0 && needed <= MOST).then_some(needed.ceil() as u32);
    rounds.map(|rounds| rounds.max(measured.n + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::gate::Unit;

    fn result(ratio: f64, half: f64, verdict: Verdict) -> StepResult {
        let effect = Effect {
            ratio,
            low: ratio / (1.0 + half),
            high: ratio * (1.0 + half),
            n: 16,
            alpha: 0.05,
            p_value: 0.5,
        };
        StepResult {
            arm: "head".to_owned(),
            title: String::new(),
            against: "baseline".to_owned(),
            verdict,
            effect: Some(effect),
            server_cpu: None,
            client_cpu: None,
            throughput: None,
            published: None,
        }
    }

    fn gate(outcome: Outcome, head: &StepResult, same: f64) -> GateResult {
        let design = GateDesign {
            bar: 0.03,
            unit: Unit::Request,
            most_ms: 1000,
        };
        let control = result(same, 0.004, Verdict::NoDifferenceThatMatters);
        judge(&design, outcome, Some(head), Some(&control))
    }

    fn passage_of(ratio: f64, half: f64, same: f64) -> Passage {
        let head = result(ratio, half, Verdict::Inconclusive);
        gate(Outcome::ServerCpuPerRequest, &head, same).passage
    }

    #[test]
    fn the_whole_interval_decides_and_two_builds_that_lie_apart_widen_it() {
        for (ratio, half, same, expected) in [
            (1.05, 0.01, 1.0, Passage::Slower),
            (1.05, 0.03, 1.0, Passage::CannotTell),
            (1.05, 0.01, 0.985, Passage::CannotTell),
            (1.0, 0.01, 1.0, Passage::Passes),
            (1.0, 0.04, 1.0, Passage::CannotTell),
            (1.0, 0.02, 1.02, Passage::CannotTell),
            (0.8, 0.05, 1.0, Passage::Passes),
            (1.03, 0.001, 1.0, Passage::CannotTell),
        ] {
            let found = passage_of(ratio, half, same);
            assert_eq!(found, expected, "{ratio} {half} {same}");
        }
    }

    #[test]
    fn what_has_no_verdict_passes_nothing() {
        let void = result(1.2, 0.01, Verdict::Invalid);
        let found = gate(Outcome::ServerCpuPerRequest, &void, 1.0);
        assert_eq!(found.passage, Passage::CannotTell);
        assert_eq!(found.rounds_needed, None);
    }

    #[test]
    fn a_lower_rate_is_a_higher_cost() {
        let slower = result(0.95, 0.01, Verdict::Worse);
        let found = gate(Outcome::Throughput, &slower, 1.0);
        assert_eq!(found.passage, Passage::Slower);
    }

    #[test]
    fn an_interval_twice_too_wide_takes_four_times_the_rounds_and_one_at_the_bar_no_number() {
        let needed = |ratio, half| {
            let head = result(ratio, half, Verdict::Inconclusive);
            gate(Outcome::ServerCpuPerRequest, &head, 1.0).rounds_needed
        };
        let rounds = needed(1.0, 2.0 * 0.03).unwrap();
        assert!((60..=66).contains(&rounds), "{rounds}");
        assert_eq!(needed(1.03, 0.01), None);
        assert_eq!(needed(1.0, 0.01), None, "it is known already");
    }
}
