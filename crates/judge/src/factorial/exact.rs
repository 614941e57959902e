//! Values that never vary: two of them are equal or they differ, and there is nothing to estimate.

use model::Verdict;
use model::judgement::ExactChange;

use crate::count;
use crate::rules::Rules;
use crate::values::{Turn, Values};
use crate::verdict::Direction;

/// The change between two arms that each have one value in all their runs; `None` where one of them
/// varies.
pub(crate) fn change(values: &Values<'_>, arm: &str, against: &str) -> Option<ExactChange> {
    let (value, reference) = (values.steady(arm)?, values.steady(against)?);
    let in_both = |turn: &Turn| values.at(against, *turn).is_some();
    let turns = values.turns_of(arm).filter(in_both).count();
    Some(ExactChange {
        value,
        against: reference,
        n: count(turns),
    })
}

/// The verdict on two such values. Where they have a ratio, one within the smallest effect is no
/// difference that matters; 0 differs from every other value.
pub(crate) fn verdict(change: &ExactChange, direction: Direction, rules: &Rules) -> Verdict {
    let ExactChange { value, against, n } = *change;
    if n < rules.fewest_pairs {
        return Verdict::Invalid;
    }
    if is_near(change, rules) {
        Verdict::NoDifferenceThatMatters
    } else if (value < against) == (direction == Direction::LowerIsBetter) {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}

/// Whether the two values lie no further apart than the smallest effect.
pub(crate) fn is_near(change: &ExactChange, rules: &Rules) -> bool {
    let ExactChange { value, against, .. } = *change;
    let log_ratio = (value / against).ln().abs();
    value == against || log_ratio <= rules.smallest_effect.ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        smallest_effect: 0.03,
        fewest_pairs: 10,
        family_alpha: 0.05,
        states_last: false,
    };

    fn verdict_on(value: f64, against: f64, n: u32) -> Verdict {
        let change = ExactChange { value, against, n };
        verdict(&change, Direction::LowerIsBetter, &RULES)
    }

    #[test]
    fn equal_counts_are_no_difference_and_others_differ_by_more_than_what_matters() {
        assert_eq!(verdict_on(7.0, 7.0, 10), Verdict::NoDifferenceThatMatters);
        assert_eq!(
            verdict_on(101.0, 100.0, 10),
            Verdict::NoDifferenceThatMatters
        );
        assert_eq!(verdict_on(104.0, 100.0, 10), Verdict::Worse);
        assert_eq!(verdict_on(0.0, 100.0, 10), Verdict::Better);
        assert_eq!(verdict_on(5.0, 0.0, 10), Verdict::Worse);
        assert_eq!(verdict_on(-1.0, 0.0, 10), Verdict::Better);
    }

    #[test]
    fn too_few_runs_show_nothing_however_much_they_agree() {
        assert_eq!(verdict_on(7.0, 7.0, 9), Verdict::Invalid);
    }
}
