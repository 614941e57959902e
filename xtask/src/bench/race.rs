//! Arms that take turns: each comes once a round, in random order, so that drift falls on all alike
//! and the pairs of a round can be compared.

use anyhow::{Context as _, bail};
use model::random::SplitMix64;

use super::claim::{Bars, Found, Tally};
use super::page;

/// Of the order within rounds.
const SEED: u64 = 6;

/// The shortfall of what was not measured, which is printed last.
const UNKNOWN: f64 = f64::NEG_INFINITY;

/// A number that a lap comes to.
pub(super) struct Quantity<L> {
    pub(super) name: &'static str,
    pub(super) of: fn(&L) -> f64,
}

/// What a table shows of each arm, with the unit.
pub(super) type Columns<L> = &'static [(&'static Quantity<L>, &'static str)];

/// One that takes part, and its laps so far.
pub(super) struct Arm<'a, L> {
    pub(super) name: String,
    /// The commands that are run, for readers.
    pub(super) shown: Vec<String>,
    run: Box<dyn FnMut() -> anyhow::Result<L> + 'a>,
    pub(super) laps: Vec<L>,
}

/// That one arm stands so to the best of some others.
struct Claim<L: 'static> {
    quantity: &'static Quantity<L>,
    arm: &'static str,
    peers: Vec<String>,
    bars: Bars,
}

/// A comparison.
pub(super) struct Race<'a, L: 'static> {
    pub(super) title: String,
    pub(super) columns: Columns<L>,
    pub(super) arms: Vec<Arm<'a, L>>,
    claims: Vec<Claim<L>>,
    /// Peers that are not here, each with the reason.
    pub(super) left_out: Vec<String>,
}

impl<'a, L> Race<'a, L> {
    pub(super) fn new(title: String, columns: Columns<L>) -> Self {
        Self {
            title,
            columns,
            arms: Vec::new(),
            claims: Vec::new(),
            left_out: Vec::new(),
        }
    }

    pub(super) fn arm(
        &mut self,
        name: &str,
        shown: Vec<String>,
        run: impl FnMut() -> anyhow::Result<L> + 'a,
    ) {
        self.arms.push(Arm {
            name: name.to_owned(),
            shown,
            run: Box::new(run),
            laps: Vec::new(),
        });
    }

    /// Claims of an arm how it stands to the best of those peers that are there.
    pub(super) fn claim<P: Into<String>>(
        &mut self,
        quantity: &'static Quantity<L>,
        arm: &'static str,
        peers: impl IntoIterator<Item = P>,
        bars: Bars,
    ) {
        self.claims.push(Claim {
            quantity,
            arm,
            peers: peers.into_iter().map(Into::into).collect(),
            bars,
        });
    }

    /// Runs so many rounds, prints what they came to, and says how the claims came out, the worst
    /// first.
    pub(super) fn run(mut self, rounds: usize) -> anyhow::Result<Tally> {
        let mut random = SplitMix64::new(SEED);
        for _ in 0..rounds {
            for index in shuffled(self.arms.len(), &mut random) {
                if let Some(signal) = sys::stop::heard() {
                    bail!("stopped by signal {signal}");
                }
                let arm = &mut self.arms[index];
                let lap = (arm.run)().with_context(|| arm.name.clone())?;
                arm.laps.push(lap);
            }
        }
        println!("{}", page::head(&self, rounds));
        let mut tally = Tally::default();
        let claims = self.claims.iter();
        let mut judged: Vec<_> = claims.map(|claim| self.judge(claim, &mut tally)).collect();
        judged.sort_by(|one, other| other.0.total_cmp(&one.0));
        for (_, line) in judged {
            println!("{line}");
        }
        Ok(tally)
    }

    /// How far the claim falls short of its bar, and the claim beside its best peer; the others beside
    /// it, without a bar.
    fn judge(&self, claim: &Claim<L>, tally: &mut Tally) -> (f64, String) {
        let what = format!("{}, {}", claim.quantity.name, claim.arm);
        let peers = claim.peers.iter().filter_map(|peer| self.find(peer));
        let mut peers: Vec<(&str, Vec<f64>)> = peers
            .map(|peer| (peer.name.as_str(), peer.values(claim.quantity)))
            .collect();
        peers.sort_by(|(_, one), (_, other)| median(one).total_cmp(&median(other)));
        if !claim.bars.goal.is_of_cost() {
            peers.reverse();
        }
        let ours = self.find(claim.arm).map(|arm| arm.values(claim.quantity));
        let found = |peer: &[f64]| Found::of(ours.as_deref()?, peer, claim.bars);
        if claim.peers.is_empty() {
            let line = format!("  {what} to servers that are named: none was (--against)");
            return (UNKNOWN, line);
        }
        let Some((best, found_best)) = peers
            .first()
            .and_then(|(best, values)| Some((best, found(values)?)))
        else {
            let line = format!("  {what}: not measured, as no peer is here");
            return (UNKNOWN, line);
        };
        let what = format!("{what} to {best}");
        tally.note(&what, &found_best);
        let others = peers[1..]
            .iter()
            .filter_map(|(name, values)| Some(format!("{name} {:.3}", found(values)?.ratio())));
        let others: Vec<String> = others.collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("  [the best of its peers; to {}]", others.join(", to ")),
        };
        let line = format!("  {what}: {found_best}{others}");
        (found_best.shortfall(), line)
    }

    fn find(&self, name: &str) -> Option<&Arm<'a, L>> {
        self.arms.iter().find(|arm| arm.name == name)
    }
}

impl<L> Arm<'_, L> {
    /// What each of its laps came to.
    pub(super) fn values(&self, quantity: &Quantity<L>) -> Vec<f64> {
        self.laps.iter().map(quantity.of).collect()
    }
}

/// The upper one of two in the middle.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The numbers below `count` in random order (Fisher and Yates).
fn shuffled(count: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.below(last + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::claim::Bar;

    const COST: Quantity<f64> = Quantity {
        name: "cost",
        of: |lap| *lap,
    };

    /// Arms of constant cost, and a claim of the first against the rest.
    fn race(costs: &[(&'static str, f64)], bar: Bar) -> String {
        let mut race = Race::new("a title".to_owned(), &[(&COST, "µs")]);
        for (name, cost) in costs {
            race.arm(name, Vec::new(), move || Ok(*cost));
        }
        race.claim(&COST, costs[0].0, ["b", "c", "absent"], Bars::goal(bar));
        race.run(12).unwrap().to_string()
    }

    #[test]
    fn a_claim_is_held_against_the_best_of_the_peers_that_are_there() {
        let costs = [("a", 8.0), ("b", 20.0), ("c", 10.0)];
        assert!(race(&costs, Bar::AtMost(0.81)).contains("1 bars held, 0 missed"));
        assert!(race(&costs, Bar::AtMost(0.79)).contains("missed: cost, a to c"));
        assert!(
            race(&costs, Bar::AtLeast(0.39)).contains("1 bars held"),
            "to b"
        );
    }

    #[test]
    fn without_a_peer_nothing_is_held_and_nothing_missed() {
        assert!(race(&[("a", 8.0)], Bar::AtMost(1.0)).contains("0 bars held, 0 missed"));
    }

    #[test]
    fn each_round_has_every_arm_once_and_not_always_in_one_order() {
        let mut random = SplitMix64::new(SEED);
        let orders: Vec<_> = (0..20).map(|_| shuffled(3, &mut random)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(orders.iter().any(|order| order != &orders[0]));
    }
}
