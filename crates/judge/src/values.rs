//! One metric's values in a run, by arm and round.

use std::collections::BTreeMap;

/// A round and an epoch: values measured in one turn make pairs.
pub(crate) type Turn = (u32, u32);

/// A value, with where and when it was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) arm: &'a str,
    pub(crate) turn: Turn,
    /// Position within the round.
    pub(crate) position: u32,
    pub(crate) value: f64,
}

/// All values of one metric; a run that failed has none.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    by_arm: BTreeMap<&'a str, BTreeMap<Turn, Measured<'a>>>,
}

impl<'a> Values<'a> {
    pub(crate) fn of(all: impl Iterator<Item = Measured<'a>>) -> Self {
        let mut by_arm: BTreeMap<&str, BTreeMap<Turn, Measured<'_>>> = BTreeMap::new();
        for measured in all.filter(|measured| measured.value.is_finite()) {
            let turns = by_arm.entry(measured.arm).or_default();
            turns.insert(measured.turn, measured);
        }
        Self { by_arm }
    }

    /// An arm's values in the order of the rounds.
    pub(crate) fn of_arm(&self, arm: &str) -> Vec<f64> {
        let turns = self.by_arm.get(arm).into_iter().flatten();
        turns.map(|(_, measured)| measured.value).collect()
    }

    pub(crate) fn at(&self, arm: &str, turn: Turn) -> Option<f64> {
        Some(self.by_arm.get(arm)?.get(&turn)?.value)
    }

    /// The turns in which an arm has a value.
    pub(crate) fn turns_of(&self, arm: &str) -> impl Iterator<Item = Turn> {
        let turns = self.by_arm.get(arm).into_iter().flatten();
        turns.map(|(turn, _)| *turn)
    }

    /// The value that an arm has in each of two runs or more, if it is always equal.
    pub(crate) fn steady(&self, arm: &str) -> Option<f64> {
        let values = self.of_arm(arm);
        let (first, others) = values.split_first()?;
        let is_steady = !others.is_empty() && others.iter().all(|other| other == first);
        is_steady.then_some(*first)
    }

    /// The values of some arms in the order in which they were measured: by round and position in
    /// it, because clocks start again when a run is resumed.
    pub(crate) fn in_time_order(&self, arms: &[&str]) -> Vec<f64> {
        let of_arms = arms.iter().filter_map(|arm| self.by_arm.get(arm));
        let mut all: Vec<&Measured<'_>> = of_arms.flat_map(BTreeMap::values).collect();
        all.sort_unstable_by_key(|measured| (measured.turn, measured.position));
        all.iter().map(|measured| measured.value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[(&'static str, u32, u32, f64)]) -> Values<'static> {
        let measured = |(arm, round, position, value): &(&'static str, u32, u32, f64)| Measured {
            arm,
            turn: (*round, 0),
            position: *position,
            value: *value,
        };
        Values::of(of.iter().map(measured))
    }

    #[test]
    fn a_value_is_steady_when_two_runs_or_more_agree_in_it_to_the_last_bit() {
        let found = values(&[
            ("same", 0, 0, 7.0),
            ("same", 1, 0, 7.0),
            ("once", 0, 1, 7.0),
            ("varies", 0, 2, 7.0),
            ("varies", 1, 2, 7.000_001),
        ]);
        let steady = ["same", "once", "varies", "absent"].map(|arm| found.steady(arm));
        assert_eq!(steady, [Some(7.0), None, None, None]);
    }

    #[test]
    fn time_order_is_that_of_places_in_the_round_and_what_is_no_number_is_no_value() {
        let found = values(&[
            ("a", 1, 0, 3.0),
            ("a", 0, 1, 2.0),
            ("b", 0, 0, 1.0),
            ("b", 1, 1, f64::NAN),
        ]);
        assert_eq!(found.in_time_order(&["a", "b"]), [1.0, 2.0, 3.0]);
    }
}
