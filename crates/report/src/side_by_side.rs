//! Many servers side by side: the answer and the table of latency for runs in which a sentence and
//! a column for each server would be more than anybody reads.

use model::judgement::{ArmResult, LatencyResult, Outcome, StepResult};
use model::study::DesignKind;
use model::{Judgement, Role, RunRecord, Verdict};

use crate::grouped::grouped;
use crate::view::Table;
use crate::{numbers, sentences};

/// More comparisons than this are described together.
const FEW: usize = 3;
/// More arms than this are rows of a latency table rather than columns.
const FEW_COLUMNS: usize = 2;
/// A change to at least this ratio is shown as a multiple.
const MULTIPLE: f64 = 2.0;
/// Share of the offered rate that an arm may lack and still count as keeping up …
const MISSING_SHARE: f64 = 0.03;
/// … or, since arrivals are random, how many standard deviations of their number.
const DEVIATIONS: f64 = 3.0;

/// Whether a run compares so many servers that they are described together.
pub(crate) fn is_so(run: &RunRecord, judgement: &Judgement) -> bool {
    run.study.design.kind == DesignKind::Compare && judgement.steps.len() > FEW
}

/// Describes the results of the comparisons, in one sentence for each arm that others are compared
/// with. `void` is the reason why verdicts are withheld, if any are.
pub(crate) fn sentence(judgement: &Judgement, void: &str) -> String {
    let groups = grouped(&judgement.steps, |step| step.against.as_str()).into_iter();
    let all = groups.map(|(against, steps)| against_one(judgement, against, steps, void));
    let all: Vec<String> = all.collect();
    all.join(" ")
}

fn against_one(
    judgement: &Judgement,
    against: &str,
    mut steps: Vec<&StepResult>,
    void: &str,
) -> String {
    let ratio = |step: &StepResult| step.effect.map_or(0.0, |effect| effect.ratio);
    steps.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    let arm = judgement.arms.iter().find(|arm| arm.name == against);
    let title = arm.map_or(against, |arm| &arm.title);
    let parts = words(judgement.outcome, void);
    let parts = parts.iter().filter_map(|(verdict, lead)| {
        let matching = steps.iter().filter(|step| step.verdict == *verdict);
        let names: Vec<String> = matching.map(|step| named(step)).collect();
        (!names.is_empty()).then(|| format!("{lead} {}", names.join(", ")))
    });
    let parts: Vec<String> = parts.collect();
    format!("Against {title}, {}.", parts.join("; "))
}

/// The cheapest and the dearest of the compared arms, as a figure and its caption.
pub(crate) fn range(judgement: &Judgement) -> Option<(String, String)> {
    let is_compared = |arm: &&ArmResult| matches!(arm.role, Role::Baseline | Role::Step);
    let cost = |arm: &ArmResult| arm.server_cpu_us_per_request.map(|found| found.value);
    let with_cost = judgement.arms.iter().filter(is_compared);
    let mut with_cost: Vec<(f64, &ArmResult)> = with_cost
        .filter_map(|arm| Some((cost(arm)?, arm)))
        .collect();
    with_cost.sort_by(|one, other| one.0.total_cmp(&other.0));
    let ((least, cheapest), (most, dearest)) = (with_cost.first()?, with_cost.last()?);
    let least = numbers::micros_roughly(*least);
    Some((
        format!(
            "{} … {}",
            least.trim_end_matches(" µs"),
            numbers::micros_roughly(*most)
        ),
        format!(
            "{}, {} … {}",
            sentences::outcome_name(judgement.outcome),
            cheapest.title,
            dearest.title
        ),
    ))
}

/// Words that introduce the arms with each verdict.
fn words(outcome: Outcome, void: &str) -> [(Verdict, String); 5] {
    let [less, more] = match outcome {
        Outcome::Throughput => ["higher", "lower"].map(|it| format!("throughput is {it} with")),
        _ => ["less", "more"]
            .map(|it| format!("a {} costs {it} server CPU in", sentences::unit_of(outcome))),
    };
    [
        (Verdict::Better, less),
        (Verdict::Worse, more),
        (
            Verdict::NoDifferenceThatMatters,
            "there is no difference that matters in".to_owned(),
        ),
        (Verdict::Inconclusive, "this run cannot tell for".to_owned()),
        (
            Verdict::Invalid,
            format!("there is no verdict, since {void}; measured:"),
        ),
    ]
}

/// Names an arm with the size of its change: `nginx (+31 %)`, `Caddy (4.5 ×)`.
fn named(step: &StepResult) -> String {
    let Some(effect) = step.effect else {
        return step.title.clone();
    };
    let size = if effect.ratio >= MULTIPLE {
        format!("{:.1} ×", effect.ratio)
    } else {
        numbers::change_roughly(effect.ratio)
    };
    format!("{} ({size})", step.title)
}

/// Response times with one arm per row and one quantile per column; `None` where the arms are so
/// few that they are columns.
pub(crate) fn latency(results: &[LatencyResult]) -> Option<Table> {
    if results.len() <= FEW_COLUMNS {
        return None;
    }
    let quantiles = sentences::carried_quantiles(results);
    let row = |result: &LatencyResult| {
        let cells = quantiles
            .iter()
            .map(|quantile| sentences::quantile_with_interval(&result.response, *quantile));
        std::iter::once(result.title.clone()).chain(cells).collect()
    };
    let named = quantiles.iter().map(|at| numbers::quantile(*at));
    let headings = std::iter::once("response".to_owned()).chain(named);
    let title = "Response time of each arm by quantile";
    Some(Table::of_texts(title, headings, results.iter().map(row)))
}

/// Says how many arms kept up with one rate, naming only those that did not; `None` where the arms
/// are few.
pub(crate) fn achieved(results: &[LatencyResult]) -> Option<String> {
    if results.len() <= FEW_COLUMNS {
        return None;
    }
    let short = results.iter().filter(|result| fell_short(result));
    let short = short.map(sentences::answered);
    let short: Vec<String> = short.collect();
    Some(if short.is_empty() {
        format!("all {} kept up", results.len())
    } else {
        format!("all kept up but these: {}", short.join(", "))
    })
}

/// Describes how the latency figures were measured.
pub(crate) fn latency_design(results: &[LatencyResult]) -> Option<String> {
    let first = results.first()?;
    let achieved = achieved(results).unwrap_or_else(|| {
        let each: Vec<String> = results.iter().map(sentences::answered).collect();
        each.join(", ")
    });
    Some(format!(
        "Open loop at {} requests/s: {achieved}. Response time counts from the moment a request was \
         due, service time from the moment it was sent; a quantile is shown only where at least 10 \
         requests lie beyond it.",
        numbers::rate(first.offered_rps),
    ))
}

fn fell_short(result: &LatencyResult) -> bool {
    // Arrivals that were expected; for Poisson arrivals this is also the variance of their number.
    let expected = result.requests as f64 * result.offered_rps / result.achieved_rps;
    let may_miss = MISSING_SHARE.max(DEVIATIONS / expected.sqrt());
    result.achieved_rps < result.offered_rps * (1.0 - may_miss)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use model::Effect;

    /// A comparison of five servers with one, of which each has another verdict.
    fn compared() -> (RunRecord, Judgement) {
        let (run, mut judgement) = sample::versus(Verdict::Worse, 1.5, 0.1);
        let step = judgement.steps[0].clone();
        let of = |(name, verdict, ratio): (&str, Verdict, f64)| StepResult {
            arm: name.to_owned(),
            title: name.to_owned(),
            verdict,
            effect: step.effect.map(|effect| Effect { ratio, ..effect }),
            ..step.clone()
        };
        judgement.steps = [
            ("slow", Verdict::Worse, 4.52),
            ("slower", Verdict::Worse, 1.5),
            ("fast", Verdict::Better, 0.8),
            ("alike", Verdict::NoDifferenceThatMatters, 1.0),
            ("unclear", Verdict::Inconclusive, 1.1),
        ]
        .map(of)
        .into();
        (run, judgement)
    }

    #[test]
    fn many_servers_are_told_by_verdict_and_each_with_its_size() {
        let (run, judgement) = compared();
        assert!(is_so(&run, &judgement));
        assert_eq!(
            crate::answer::sentence(&run, &judgement),
            "Against A, a request costs less server CPU in fast (−20 %); a request costs more \
             server CPU in slower (+50 %), slow (4.5 ×); there is no difference that matters in \
             alike (0.0 %); this run cannot tell for unclear (+10 %)."
        );
    }

    #[test]
    fn a_verdict_that_is_withheld_says_why_once() {
        let (_, mut judgement) = compared();
        judgement.steps.truncate(1);
        judgement.steps[0].verdict = Verdict::Invalid;
        assert_eq!(
            sentence(&judgement, "pairs are too few"),
            "Against A, there is no verdict, since pairs are too few; measured: slow (4.5 ×)."
        );
    }

    #[test]
    fn each_arm_with_another_reference_is_told_of_beside_that_one() {
        let (_, mut judgement) = compared();
        judgement.steps[0].against = "fast".to_owned();
        let said = sentence(&judgement, "");
        let wanted = "Against fast, a request costs more server CPU in slow (4.5 ×).";
        assert!(said.starts_with(wanted), "{said}");
        assert!(said.contains(" Against A, a request costs less"), "{said}");
    }

    #[test]
    fn many_arms_are_rows_and_those_that_kept_up_are_not_named() {
        let two = sample::judgement().latency;
        assert!(latency(&two).is_none() && achieved(&two).is_none());
        let mut four = [two.clone(), two].concat();
        let table = latency(&four).unwrap();
        assert_eq!(table.rows.len(), 4);
        assert!(
            table
                .rows
                .iter()
                .all(|row| row.cells.len() == table.headings().count())
        );
        assert_eq!(achieved(&four).unwrap(), "all 4 kept up");
        four[1].achieved_rps = four[1].offered_rps / 2.0;
        let said = achieved(&four).unwrap();
        let slow = sentences::answered(&four[1]);
        assert_eq!(said, format!("all kept up but these: {slow}"));
    }
}
