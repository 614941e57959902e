//! A flame graph of two programs together, which shows the functions that grew and those that
//! shrank from one to the other.

use std::collections::{BTreeMap, BTreeSet};

use model::stacks::{StackFrame, Stacks};

use super::canvas::Ink;
use super::flame::{Call, Calls, MarkedCall, whose};
use super::{Chart, Form};
use crate::numbers;

/// Weight of the larger of both costs of a unit: fine enough for whole numbers.
const WEIGHTS: f64 = 1e9;
/// A difference of more standard errors is no chance, even among as many functions as there are.
const SURE: f64 = 4.0;
/// Strength of the faintest colour of a sure difference, and the change, as a share of the whole,
/// from which the colour is strongest.
const FAINTEST: f64 = 0.35;
const STRONGEST_AT: f64 = 0.25;
/// A function that takes more than this share of the time counts as the whole.
const WHOLE: f64 = 0.9;
/// The most functions that are named of those that grew, and of those that shrank.
const MOST_TOLD: usize = 3;

/// The stacks of one program.
#[derive(Clone, Copy)]
pub(crate) struct CostedStacks<'a> {
    pub(crate) stacks: &'a Stacks,
    /// CPU time of a unit of work in this program, µs, from its blocks; 1 for both programs where
    /// it is not known.
    pub(crate) cost: f64,
    /// Standard error of `cost`, µs.
    pub(crate) error: f64,
}

/// Two programs that are compared, the reference first.
pub(crate) struct Difference<'a> {
    pub(crate) sides: [CostedStacks<'a>; 2],
    /// The unit of work that takes `cost`, such as `request`; `None` where weights are shares of
    /// the CPU time.
    pub(crate) unit: Option<&'a str>,
    pub(crate) heading: &'a str,
    pub(crate) remark: &'a str,
}

impl Chart for Difference<'_> {
    fn draw(&self, name: &str, form: Form) -> Option<String> {
        let mut calls = Calls::default();
        let most = self
            .sides
            .map(|side| side.cost)
            .into_iter()
            .fold(0.0, f64::max);
        let scales = self.sides.map(|side| side.scale() * WEIGHTS / most);
        for (program, side) in self.sides.iter().enumerate() {
            calls.add(side.stacks, (program, scales[program]));
        }
        let tell = |frame: &StackFrame, call: &Call<'_>| {
            let costs = call.weights.map(|it| it as f64 * most / WEIGHTS);
            let (ink, strength) = self.colour(costs);
            MarkedCall {
                ink,
                strength,
                words: format!("{}: {}", whose(frame), self.change(costs)),
            }
        };
        let heading = (self.heading, self.remark, self.sentence());
        calls.drawn((name, form), &heading, &tell)
    }

    fn is_searched(&self) -> bool {
        true
    }
}

impl CostedStacks<'_> {
    /// Returns the cost of each ns in a stack.
    fn scale(&self) -> f64 {
        self.cost / (self.stacks.weight_ns() as f64).max(1.0)
    }

    /// Returns the variance of a cost, from the error of the whole and from the number of samples
    /// in which the function was seen. A function that was never seen is treated as if it might
    /// have been once.
    fn variance(&self, cost: f64) -> f64 {
        let samples = self.stacks.samples as f64;
        let share = (cost / self.cost * samples + 1.0) / (samples + 2.0);
        let of_share = share * (1.0 - share).max(0.0) / samples.max(1.0);
        self.cost.powi(2) * of_share + (share * self.error).powi(2)
    }
}

impl Difference<'_> {
    /// Whether two costs differ by more than chance.
    fn is_sure(&self, costs: [f64; 2]) -> bool {
        let variances = [0, 1].map(|at| self.sides[at].variance(costs[at]));
        (costs[1] - costs[0]).abs() > SURE * (variances[0] + variances[1]).sqrt()
    }

    /// Whether nearly all time of both programs is within it: that the whole differs is said
    /// elsewhere.
    fn is_whole(&self, costs: [f64; 2]) -> bool {
        let mut of_both = self.sides.iter().zip(costs);
        of_both.all(|(side, cost)| cost > WHOLE * side.cost)
    }

    fn colour(&self, costs: [f64; 2]) -> (Ink, f64) {
        let change = costs[1] - costs[0];
        let whole = self.sides[0].cost.max(self.sides[1].cost);
        let strength = (change.abs() / whole / STRONGEST_AT).clamp(FAINTEST, 0.99);
        match (self.is_sure(costs), change > 0.0) {
            (false, _) => (Ink::Floor, FAINTEST),
            (true, true) => (Ink::Grew, strength),
            (true, false) => (Ink::Shrank, strength),
        }
    }

    /// `+2.21 µs (1.20 → 3.41)`.
    fn change(&self, [before, after]: [f64; 2]) -> String {
        let sign = if after < before { "−" } else { "+" };
        let shown = |it: f64| match self.unit {
            Some(_) => numbers::micros(it),
            None => numbers::share(it),
        };
        let [change, before, after] = [(after - before).abs(), before, after].map(shown);
        let unit = if self.unit.is_some() { " µs" } else { "" };
        format!("{sign}{change}{unit} ({before} → {after})")
    }

    /// Names what the changes are part of.
    fn whole(&self) -> String {
        self.unit.map_or_else(
            || "of its CPU time".to_owned(),
            |unit| format!("per {unit}"),
        )
    }

    /// Says which functions' own time differs for sure, and by how much. Where none does, the time
    /// with calls included is compared instead.
    pub(crate) fn sentence(&self) -> String {
        let own = self.costs(|frames| frames.last().into_iter().collect());
        let mut with_calls = self.costs(|frames| frames.iter().collect());
        with_calls.retain(|_, costs| !self.is_whole(*costs));
        let told = [
            ("By functions' own time", own),
            ("With what they call", with_calls),
        ];
        let told = told.into_iter().find_map(|(lead, costs)| {
            let words = self.changes_in_words(costs);
            (!words.is_empty()).then(|| format!("{lead}, {}: {words}.", self.whole()))
        });
        told.unwrap_or_else(|| {
            "No function's time differs by more than these few samples can show.".to_owned()
        })
    }

    /// Lists the functions that differ for sure, the largest difference first.
    fn changes_in_words(&self, costs: BTreeMap<String, [f64; 2]>) -> String {
        let mut sure: Vec<(String, [f64; 2])> = costs.into_iter().collect();
        sure.retain(|(_, costs)| self.is_sure(*costs));
        let size = |costs: &[f64; 2]| (costs[1] - costs[0]).abs();
        sure.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
        let of_kind = |(grew, lead): (bool, &str)| {
            let of_kind = sure
                .iter()
                .filter(|(_, costs)| (costs[1] > costs[0]) == grew);
            let words = of_kind.map(|(name, costs)| format!("{name} {}", self.change(*costs)));
            let words: Vec<String> = words.take(MOST_TOLD).collect();
            (!words.is_empty()).then(|| format!("{lead} {}", words.join(", ")))
        };
        let parts = [(true, "more in"), (false, "less in")]
            .into_iter()
            .filter_map(of_kind);
        parts.collect::<Vec<_>>().join("; ")
    }

    /// Returns what each function costs on either side. `counted` picks the functions of a stack to
    /// which the stack's time is added.
    fn costs(
        &self,
        counted: impl Fn(&[StackFrame]) -> BTreeSet<&StackFrame>,
    ) -> BTreeMap<String, [f64; 2]> {
        let mut costs: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        for (at, side) in self.sides.iter().enumerate() {
            for stack in &side.stacks.stacks {
                for frame in counted(&stack.frames) {
                    costs.entry(whose(frame)).or_default()[at] +=
                        stack.weight_ns as f64 * side.scale();
                }
            }
        }
        costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes stacks with this many samples of each function.
    fn stacks(of: &[(&str, u64)]) -> Stacks {
        let frames = |name: &str| vec![StackFrame::of_program("app"), StackFrame::of_program(name)];
        let seen = of
            .iter()
            .flat_map(|(name, times)| (0..*times).map(move |_| (frames(name), 5_000_000)));
        Stacks::of(1_000_000_000, seen)
    }

    fn difference(stacks: &[Stacks; 2], costs: [f64; 2]) -> Difference<'_> {
        let side = |at: usize| CostedStacks {
            stacks: &stacks[at],
            cost: costs[at],
            error: 0.0,
        };
        Difference {
            sides: [side(0), side(1)],
            unit: Some("request"),
            heading: "B against A",
            remark: "",
        }
    }

    #[test]
    fn what_costs_more_for_sure_is_coloured_and_told_and_the_rest_is_neither() {
        let both = [
            stacks(&[("parse", 100), ("send", 100)]),
            stacks(&[("parse", 105), ("send", 95), ("hash", 200)]),
        ];
        let difference = difference(&both, [10.0, 20.0]);
        assert_eq!(
            difference.sentence(),
            "By functions' own time, per request: more in hash +10.0 µs (0.00 → 10.0)."
        );
        let drawn = difference.draw("difference", Form::Wide).unwrap();
        let told = "<title>hash: +10.0 µs (0.00 → 10.0)</title><rect";
        let rect = drawn.split(told).nth(1).expect(&drawn);
        assert!(
            rect.split("/>").next().unwrap().contains("var(--grew)"),
            "{drawn}"
        );
        assert_eq!(drawn.matches("var(--grew)").count(), 2, "{drawn}");
        assert!(!drawn.contains("var(--shrank)"));
    }

    #[test]
    fn what_is_gone_is_there_to_be_seen() {
        let both = [
            stacks(&[("parse", 100), ("log", 100)]),
            stacks(&[("parse", 100)]),
        ];
        let difference = difference(&both, [10.0, 5.0]);
        let drawn = difference.draw("difference", Form::Wide).unwrap();
        assert!(
            drawn.contains("<title>log: −5.00 µs (5.00 → 0.00)</title>"),
            "{drawn}"
        );
        assert!(drawn.contains("var(--shrank)"));
    }

    #[test]
    fn where_the_same_functions_are_called_by_others_these_are_told() {
        let by = |caller: &str| {
            let frames = ["app", caller, "copy"].map(StackFrame::of_program).to_vec();
            Stacks::of(1_000_000_000, (0..200).map(|_| (frames.clone(), 5_000_000)))
        };
        let told = difference(&[by("epoll"), by("uring")], [10.0, 10.0]).sentence();
        assert!(
            told.starts_with("With what they call, per request: more in uring +10.0 µs"),
            "{told}"
        );
        assert!(
            told.contains("; less in epoll −10.0 µs") && !told.contains("copy"),
            "{told}"
        );
    }

    #[test]
    fn what_has_most_of_the_time_differs_no_surer_than_the_blocks_of_both() {
        let both = [
            stacks(&[("parse", 320), ("send", 80)]),
            stacks(&[("parse", 320), ("send", 80)]),
        ];
        let mut difference = difference(&both, [10.0, 15.0]);
        assert!(
            difference
                .sentence()
                .contains("more in parse +4.00 µs (8.00 → 12.0)")
        );
        difference.sides[1].error = 2.0;
        assert!(difference.sentence().starts_with("No function's time"));
    }

    #[test]
    fn few_samples_tell_nothing_apart() {
        let both = [
            stacks(&[("parse", 3)]),
            stacks(&[("parse", 2), ("hash", 2)]),
        ];
        let difference = difference(&both, [10.0, 10.0]);
        assert!(difference.sentence().starts_with("No function's time"));
        assert!(
            !difference
                .draw("difference", Form::Narrow)
                .unwrap()
                .contains("var(--grew)")
        );
    }
}
