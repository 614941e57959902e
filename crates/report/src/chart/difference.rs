//! What grew and what shrank from one program to another, by functions: a flame graph of both together.

use std::collections::{BTreeMap, BTreeSet};

use model::stacks::{StackFrame, Stacks};

use super::canvas::Ink;
use super::flame::{Call, Calls, MarkedCall, whose};
use super::{Chart, Form};
use crate::numbers;

/// Of what a unit costs, as weights: fine enough for whole numbers.
const WEIGHTS: f64 = 1e9;
/// More standard errors than that are no chance, among as many functions as there are.
const SURE: f64 = 4.0;
/// The faintest colour of what differs for sure, and the change, as a share of the whole, that has the strongest.
const FAINTEST: f64 = 0.35;
const STRONGEST_AT: f64 = 0.25;
/// Share of the time from which on it is all of it.
const WHOLE: f64 = 0.9;
/// So many functions that grew, and that shrank, are told.
const MOST_TOLD: usize = 3;

/// The stacks of one program.
#[derive(Clone, Copy)]
pub(crate) struct CostedStacks<'a> {
    pub(crate) stacks: &'a Stacks,
    /// CPU time that a unit of work costs it, µs: from its blocks. 1 for both where that is not known.
    pub(crate) cost: f64,
    /// A standard error of that, µs.
    pub(crate) error: f64,
}

/// The two that are compared, the reference first.
pub(crate) struct Difference<'a> {
    pub(crate) sides: [CostedStacks<'a>; 2],
    /// What is done once for `cost`, such as `request`; `None` where weights are shares of the CPU time.
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
    /// Cost of an ns in a stack.
    fn scale(&self) -> f64 {
        self.cost / (self.stacks.weight_ns() as f64).max(1.0)
    }

    /// Variance of a cost by that of the whole, and by the number of samples that it was seen in; those that were never seen might have been once.
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

    /// Whether nearly all time of both is within it: that the whole differs is told elsewhere.
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

    /// What changes are of.
    fn whole(&self) -> String {
        self.unit.map_or_else(
            || "of its CPU time".to_owned(),
            |unit| format!("of a {unit}"),
        )
    }

    /// Which functions' own time differs for sure, and by how much; where none does, that with what they call.
    pub(crate) fn sentence(&self) -> String {
        let own = self.costs(|frames| frames.last().into_iter().collect());
        let mut with_calls = self.costs(|frames| frames.iter().collect());
        with_calls.retain(|_, costs| !self.is_whole(*costs));
        let told = [
            ("By functions' own time", own),
            ("With what they call", with_calls),
        ];
        let told = told.into_iter().find_map(|(lead, costs)| {
            let words = self.told(costs);
            (!words.is_empty()).then(|| format!("{lead}, {}: {words}.", self.whole()))
        });
        told.unwrap_or_else(|| {
            "No function's time differs by more than so few samples tell.".to_owned()
        })
    }

    /// Those that differ for sure, the most first.
    fn told(&self, costs: BTreeMap<String, [f64; 2]>) -> String {
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

    /// What each function costs, by those of a stack that its time is counted for.
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

    /// So many samples of each function.
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
            "By functions' own time, of a request: more in hash +10.0 µs (0.00 → 10.0)."
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
            told.starts_with("With what they call, of a request: more in uring +10.0 µs"),
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
