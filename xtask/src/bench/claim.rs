//! What is claimed of a comparison, and whether it holds.

use std::fmt;

use judge::signed_rank;
use model::Effect;

/// Estimate up to which "no worse than the peer" holds, if the interval also reaches 1.
const PARITY: f64 = 1.05;
const ALPHA: f64 = 0.05;

/// How the ratio of ours to the peer's must come out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bar {
    /// Of a cost: the estimate is at most this.
    AtMost(f64),
    /// Of a rate: the estimate is at least this.
    AtLeast(f64),
    /// Of a cost: the estimate at most 1.05 and the interval's lower end at most 1.
    NoDearer,
    /// Of a rate: the estimate at least 1/1.05 and the interval's upper end at least 1.
    NoSlower,
}

impl Bar {
    /// Whether less is better.
    pub(super) fn is_of_cost(self) -> bool {
        matches!(self, Self::AtMost(_) | Self::NoDearer)
    }

    /// By what factor a ratio is worse than the bar, as a logarithm: above 0 where it is missed.
    fn shortfall(self, ratio: f64) -> f64 {
        match self {
            Self::AtMost(bar) => (ratio / bar).ln(),
            Self::AtLeast(bar) => (bar / ratio).ln(),
            Self::NoDearer => (ratio / PARITY).ln(),
            Self::NoSlower => (1.0 / PARITY / ratio).ln(),
        }
    }

    fn holds(self, effect: &Effect) -> bool {
        match self {
            Self::AtMost(bar) => effect.ratio <= bar,
            Self::AtLeast(bar) => effect.ratio >= bar,
            Self::NoDearer => effect.ratio <= PARITY && effect.low <= 1.0,
            Self::NoSlower => effect.ratio >= 1.0 / PARITY && effect.high >= 1.0,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(bar) => write!(formatter, "at most {bar:.2}"),
            Self::AtLeast(bar) => write!(formatter, "at least {bar:.2}"),
            Self::NoDearer => write!(
                formatter,
                "parity, {PARITY:.2} with a lower end of 1 or less"
            ),
            Self::NoSlower => write!(
                formatter,
                "parity, {:.2} with an upper end of 1 or more",
                1.0 / PARITY
            ),
        }
    }
}

/// Where a claim is to come out, and where it has come out already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bars {
    pub(super) goal: Bar,
    /// What was reached, where that is not the goal yet: it must not be lost.
    pub(super) reached: Option<Bar>,
}

impl Bars {
    pub(super) const fn goal(goal: Bar) -> Self {
        Self {
            goal,
            reached: None,
        }
    }

    pub(super) const fn reached(self, bar: Bar) -> Self {
        Self {
            reached: Some(bar),
            ..self
        }
    }
}

/// A claim that was measured.
#[derive(Debug)]
pub(super) struct Found {
    effect: Effect,
    bars: Bars,
}

impl Found {
    /// From what ours and the peer's came to in each round; `None` without rounds.
    pub(super) fn of(ours: &[f64], peers: &[f64], bars: Bars) -> Option<Self> {
        let pairs = ours.iter().zip(peers);
        let differences: Vec<f64> = pairs.map(|(ours, peers)| (ours / peers).ln()).collect();
        let effect = signed_rank::effect(&differences, ALPHA)?;
        Some(Self { effect, bars })
    }

    /// The estimate.
    pub(super) fn ratio(&self) -> f64 {
        self.effect.ratio
    }

    /// By what factor its goal is missed, as a logarithm: the worst of several has the largest.
    pub(super) fn shortfall(&self) -> f64 {
        self.bars.goal.shortfall(self.effect.ratio)
    }

    fn reaches_its_goal(&self) -> bool {
        self.bars.goal.holds(&self.effect)
    }

    fn keeps_what_was_reached(&self) -> bool {
        let least = self.bars.reached.unwrap_or(self.bars.goal);
        least.holds(&self.effect)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Effect {
            ratio, low, high, ..
        } = self.effect;
        let Bars { goal, reached } = self.bars;
        let word = |holds| if holds { "held" } else { "MISSED" };
        write!(
            formatter,
            "{ratio:.3} ({low:.3} … {high:.3}); bar {goal}: {}",
            word(self.reaches_its_goal())
        )?;
        match reached {
            Some(bar) => write!(
                formatter,
                "; kept {bar}: {}",
                word(self.keeps_what_was_reached())
            ),
            None => Ok(()),
        }
    }
}

/// How many claims came out how.
#[derive(Debug, Default)]
pub(super) struct Tally {
    held: u32,
    /// Those whose goal is missed, in words.
    missed: Vec<String>,
    /// Those of them that have not even what was reached before.
    lost: Vec<String>,
}

impl Tally {
    pub(super) fn note(&mut self, what: &str, found: &Found) {
        if found.reaches_its_goal() {
            self.held += 1;
        } else {
            self.missed.push(what.to_owned());
        }
        if !found.keeps_what_was_reached() {
            self.lost.push(what.to_owned());
        }
    }

    /// Takes in what a comparison of that name came to.
    pub(super) fn add(&mut self, name: &str, other: Self) {
        let named = |what: String| format!("{name}: {what}");
        self.held += other.held;
        self.missed.extend(other.missed.into_iter().map(named));
        self.lost.extend(other.lost.into_iter().map(named));
    }

    /// Whether nothing that was reached is lost.
    pub(super) fn is_kept(&self) -> bool {
        self.lost.is_empty()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "\n{} bars held, {} missed",
            self.held,
            self.missed.len()
        )?;
        for what in &self.missed {
            let lost = match self.lost.contains(what) {
                true => ", and what was reached is LOST",
                false => "",
            };
            write!(formatter, "\n  missed: {what}{lost}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 24 rounds in which ours comes to so many times the peer's, with a spread of 2 %.
    fn found(ratio: f64, bars: Bars) -> Found {
        let spread = [0.98, 1.02, 0.99, 1.01].into_iter().cycle();
        let ours: Vec<f64> = spread
            .take(24)
            .map(|spread| 10.0 * ratio * spread)
            .collect();
        let peers: Vec<f64> = (0..24)
            .map(|round| 10.0 + 0.01 * f64::from(round))
            .collect();
        Found::of(&ours, &peers, bars).unwrap()
    }

    #[test]
    fn parity_is_kept_by_what_is_as_good_and_missed_by_what_is_surely_worse() {
        let holds = |ratio, bar| found(ratio, Bars::goal(bar)).reaches_its_goal();
        assert!(holds(0.9, Bar::NoDearer) && holds(1.01, Bar::NoDearer));
        assert!(!holds(1.04, Bar::NoDearer), "its interval lies above 1");
        assert!(!holds(1.2, Bar::NoDearer));
        assert!(holds(1.3, Bar::NoSlower) && holds(1.01, Bar::NoSlower));
        assert!(!holds(0.97, Bar::NoSlower), "its interval lies below 1");
        assert!(holds(1.04, Bar::AtMost(1.05)) && !holds(1.2, Bar::AtMost(1.05)));
        assert!(holds(1.6, Bar::AtLeast(1.5)) && !holds(1.4, Bar::AtLeast(1.5)));
    }

    #[test]
    fn of_several_claims_the_one_that_misses_its_bar_by_most_falls_furthest_short() {
        let shortfall = |ratio, bar| found(ratio, Bars::goal(bar)).shortfall();
        let missed_rate = shortfall(0.9, Bar::AtLeast(1.2));
        let missed_cost = shortfall(0.9, Bar::AtMost(0.8));
        let parity = shortfall(1.0, Bar::NoDearer);
        assert!(missed_rate > missed_cost && missed_cost > 0.0 && parity < 0.0);
        assert!(parity > shortfall(0.5, Bar::AtMost(0.8)));
    }

    #[test]
    fn a_goal_that_is_missed_is_told_from_what_was_reached_and_lost() {
        let bars = Bars::goal(Bar::AtMost(0.80)).reached(Bar::AtMost(0.90));
        let mut tally = Tally::default();
        tally.note("one", &found(0.87, bars));
        assert!(tally.is_kept());
        tally.note("other", &found(0.93, bars));
        assert!(!tally.is_kept());
        let said = tally.to_string();
        assert!(said.contains("0 bars held, 2 missed"), "{said}");
        assert!(said.contains("missed: one\n"), "{said}");
        assert!(
            said.contains("missed: other, and what was reached is LOST"),
            "{said}"
        );
        let said = found(0.87, bars).to_string();
        assert!(
            said.ends_with("bar at most 0.80: MISSED; kept at most 0.90: held"),
            "{said}"
        );
    }
}
