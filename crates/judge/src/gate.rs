//! Whether a commit passes a gate: the whole interval of its cost is held against a bar.
//!
//! Two things vary at random, and an interval has to hold for both. Each round has processes of its
//! own, which the signed-rank interval over all rounds covers. And each build has a layout of its
//! own, of which there are only as many draws as builds, however long we measure. Builds come in
//! sets of one build of HEAD and two of BASE, and a round measures one set. In a set, in
//! logarithms, the cost is d = HEAD - (BASE + BASE again) / 2, and c = BASE again - BASE. If builds
//! vary with variance s² around their commit, d has the variance 1.5 s² and c has 2 s², and neither
//! says anything about the other. So with K sets
//!
//! ```text
//! s² = (Σ c² / 2 + Σ (d - mean of d)² / 1.5) / (2 K - 1)
//! ```
//!
//! has K degrees of freedom from c, whose mean is known to be 0, and K - 1 from d; and the mean of
//! d, plus and minus t(2 K - 1) × s × √(1.5 / K), is Student's interval for the difference of the
//! commits' costs. It also holds where layout has no effect, as s includes what rounds leave
//! uncertain about each build. Its unit is the build, as in any nested design the unit is what was
//! drawn at random (Scheffé, The Analysis of Variance, 1959, chapter 7; for layouts Mytkowicz et
//! al., ASPLOS 2009, and Curtsinger and Berger, ASPLOS 2013). The wider of the two intervals
//! counts. `tests/gate_simulation.rs` measures how often it is wrong.

use std::collections::BTreeMap;

use model::Effect;
use model::gate::{GateDesign, GateResult, MOST_BUILDS, Passage, Untold};
use model::judgement::Outcome;

use crate::contrast::Contrast;
use crate::metric::Metric;
use crate::rounds::Rounds;
use crate::rules::Rules;
use crate::values::Turn;
use crate::{failures, signed_rank, student};

/// The error of the interval by builds. It is less than 5 %, because nearly the same builds are
/// judged several times.
const BUILDS_ALPHA: f64 = 0.04;

/// The result of one round, in logarithms.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The set of builds that it measured.
    set: u32,
    /// How much more HEAD costs than the mean of the two builds of BASE.
    cost: f64,
    /// How much more the second build of BASE costs than the first.
    apart: f64,
}

/// The arms of a gate by name.
pub(crate) struct Names<'a> {
    pub(crate) base: &'a str,
    pub(crate) same: &'a str,
    pub(crate) head: &'a str,
}

/// Judges HEAD by all rounds. It does not pass where the comparison with BASE is not fair.
pub(crate) fn judge(
    design: &GateDesign,
    (rounds, outcome): (&Rounds<'_>, Outcome),
    names: &Names<'_>,
    rules: &Rules,
    is_fair: bool,
) -> GateResult {
    let of_rounds = measured(design, rounds, outcome, names);
    let costs: Vec<f64> = of_rounds.iter().map(|round| round.cost).collect();
    let by_rounds = signed_rank::effect(&costs, rules.family_alpha);
    let builds = Builds::of(&of_rounds);
    let both = by_rounds.zip(builds);
    let cost = both.map(|(by_rounds, builds)| builds.widened(by_rounds));
    let answer = match fair_cost(cost, (rounds, names), rules, is_fair) {
        Ok(cost) => passage(&cost, design.bar),
        Err(untold) => Err(untold),
    };
    let short = both.filter(|_| answer == Err(Untold::BarWithin));
    let rounds_needed =
        short.and_then(|(by_rounds, builds)| builds.rounds_needed(&by_rounds, design.bar));
    GateResult {
        passage: answer.unwrap_or(Passage::CannotTell),
        untold: answer.err(),
        bar: design.bar,
        unit: design.unit,
        cost,
        floor: builds.map(|builds| builds.half(builds.sets).exp_m1()),
        rounds_needed,
        builds_needed: short
            .filter(|_| rounds_needed.is_none())
            .and_then(|(by_rounds, builds)| builds.builds_needed(&by_rounds, design.bar)),
    }
}

/// The cost, where the comparison allows a statement about it; else why it does not.
fn fair_cost(
    cost: Option<Effect>,
    (rounds, names): (&Rounds<'_>, &Names<'_>),
    rules: &Rules,
    is_fair: bool,
) -> Result<Effect, Untold> {
    let failed = |arm| failures::failed_share(rounds.blocks_of(arm));
    let (base_share, head_share) = (failed(names.base), failed(names.head));
    if failures::differ(base_share, head_share) {
        return Err(Untold::Failures {
            base_share,
            head_share,
        });
    }
    let cost = cost.ok_or(Untold::NothingMeasured)?;
    if !rules.has_enough(&cost) {
        return Err(Untold::FewRounds {
            rounds: cost.n,
            needed: rules.fewest_pairs,
        });
    }
    // Whatever else voids the comparison counts as the client's limit.
    is_fair.then_some(cost).ok_or(Untold::ClientIsLimit)
}

/// The rounds in which each arm has a value.
fn measured(
    design: &GateDesign,
    rounds: &Rounds<'_>,
    outcome: Outcome,
    names: &Names<'_>,
) -> Vec<Round> {
    let Names { base, same, head } = names;
    let values = rounds.values(Metric::of_outcome(outcome));
    let more = match outcome {
        Outcome::ServerCpuPerRequest | Outcome::ServerCpuPerKilobyte => 1.0,
        // A lower rate is a higher cost.
        Outcome::Throughput => -1.0,
    };
    let cost = Contrast::mean(&[Contrast::pair(head, base), Contrast::pair(head, same)]);
    let apart = Contrast::pair(same, base);
    let turns = values.turns_of(base);
    let round = |turn: Turn| {
        Some(Round {
            set: design.set(turn.0),
            cost: more * cost.in_turn(values, turn)?,
            apart: more * apart.in_turn(values, turn)?,
        })
    };
    turns.filter_map(round).collect()
}

/// The cost as the sets of builds show it.
#[derive(Clone, Copy, Debug)]
struct Builds {
    sets: u32,
    /// The mean of the sets' costs, in logarithms.
    centre: f64,
    /// The standard deviation of that mean.
    spread: f64,
}

impl Builds {
    /// Estimates the cost from rounds; `None` without any.
    fn of(rounds: &[Round]) -> Option<Self> {
        let mut by_set: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
        for round in rounds {
            let [cost, apart] = by_set.entry(round.set).or_default();
            cost.push(round.cost);
            apart.push(round.apart);
        }
        let centre_of = |logs: &Vec<f64>| Some(signed_rank::SignedRank::of(logs)?.estimate());
        let of_sets = |which: usize| -> Option<Vec<f64>> {
            by_set.values().map(|set| centre_of(&set[which])).collect()
        };
        let (costs, apart) = (of_sets(0)?, of_sets(1)?);
        let sets = crate::count(costs.len());
        let centre = costs.iter().sum::<f64>() / f64::from(sets.max(1));
        let of_apart = apart.iter().map(|apart| apart.powi(2) / 2.0).sum::<f64>();
        let of_costs = costs.iter().map(|cost| (cost - centre).powi(2) / 1.5);
        let variance = (of_apart + of_costs.sum::<f64>()) / freedom(sets);
        (sets > 0).then(|| Self {
            sets,
            centre,
            spread: (variance * 1.5 / f64::from(sets)).sqrt(),
        })
    }

    /// Half of the interval, in logarithms, if `sets` sets were measured that vary as these do.
    fn half(&self, sets: u32) -> f64 {
        let spread = self.spread * (f64::from(self.sets) / f64::from(sets)).sqrt();
        student::two_sided_quantile(BUILDS_ALPHA, freedom(sets)) * spread
    }

    /// The interval by rounds, widened to where the interval by builds reaches further.
    fn widened(&self, by_rounds: Effect) -> Effect {
        let half = self.half(self.sets);
        Effect {
            low: by_rounds.low.min((self.centre - half).exp()),
            high: by_rounds.high.max((self.centre + half).exp()),
            ..by_rounds
        }
    }

    /// The part of the spread that is due to builds, which more rounds do not reduce.
    fn layout_spread(&self, by_rounds: &Effect) -> f64 {
        (self.spread.powi(2) - noise(by_rounds).powi(2))
            .max(0.0)
            .sqrt()
    }

    /// How many rounds bring the interval clear of the bar if the estimates stay. What rounds leave
    /// uncertain falls with the root of their number; the spread of the builds stays.
    fn rounds_needed(&self, by_rounds: &Effect, bar: f64) -> Option<u32> {
        /// More rounds than anybody waits for.
        const MOST: f64 = 100_000.0;
        let room = room(by_rounds, bar);
        let times = self.half(self.sets) / self.spread.max(f64::MIN_POSITIVE);
        let left = room.powi(2) - (times * self.layout_spread(by_rounds)).powi(2);
        let of_rounds = (half(by_rounds) / room).powi(2);
        let of_builds = (times * noise(by_rounds)).powi(2) / left;
        let needed = f64::from(by_rounds.n) * of_rounds.max(of_builds);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 0 to the most, as is looked at"
        )]
        let rounds = (left > 0.0 && needed <= MOST).then_some(needed.ceil() as u32);
        rounds.map(|rounds| rounds.max(by_rounds.n + 1))
    }

    /// How many builds of each commit use up only half of the squared room, and so leave as much
    /// for what rounds leave uncertain.
    fn builds_needed(&self, by_rounds: &Effect, bar: f64) -> Option<u32> {
        let share = self.layout_spread(by_rounds) / self.spread.max(f64::MIN_POSITIVE);
        let half = |sets: &u32| share * self.half(*sets);
        let room = room(by_rounds, bar) / std::f64::consts::SQRT_2;
        (self.sets + 1..=MOST_BUILDS).find(|sets| half(sets) < room)
    }
}

/// Degrees of freedom of the variance of builds.
fn freedom(sets: u32) -> f64 {
    2.0 * f64::from(sets) - 1.0
}

/// How far the estimate lies from the bar, in logarithms.
fn room(by_rounds: &Effect, bar: f64) -> f64 {
    (by_rounds.ratio / (1.0 + bar)).ln().abs()
}

/// Half of an interval, in logarithms.
fn half(effect: &Effect) -> f64 {
    (effect.high / effect.low).ln() / 2.0
}

/// The standard deviation of an estimate by rounds, in logarithms.
fn noise(by_rounds: &Effect) -> f64 {
    half(by_rounds) / student::two_sided_quantile(by_rounds.alpha, f64::INFINITY)
}

fn passage(cost: &Effect, bar: f64) -> Result<Passage, Untold> {
    if cost.low > 1.0 + bar {
        Ok(Passage::Slower)
    } else if cost.high < 1.0 + bar {
        Ok(Passage::Passes)
    } else {
        Err(Untold::BarWithin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixteen rounds of two sets with these costs and ratios of the builds of BASE; `noise` moves
    /// both up and down by turns.
    fn rounds(sets: [(f64, f64); 2], noise: f64) -> Vec<Round> {
        let round = |number: u32| {
            let (cost, apart) = sets[number as usize % 2];
            let noise = noise * [1.0, 1.0, -1.0, -1.0][number as usize % 4];
            Round {
                set: number % 2,
                cost: cost.ln() + noise,
                apart: apart.ln() + noise,
            }
        };
        (0..16).map(round).collect()
    }

    fn told(sets: [(f64, f64); 2], noise: f64) -> (Passage, Option<u32>, Option<u32>) {
        let rounds = rounds(sets, noise);
        let costs: Vec<f64> = rounds.iter().map(|round| round.cost).collect();
        let by_rounds = signed_rank::effect(&costs, 0.05).unwrap();
        let builds = Builds::of(&rounds).unwrap();
        (
            passage(&builds.widened(by_rounds), 0.03).unwrap_or(Passage::CannotTell),
            builds.rounds_needed(&by_rounds, 0.03),
            builds.builds_needed(&by_rounds, 0.03),
        )
    }

    #[test]
    fn the_whole_interval_decides_and_builds_that_lie_apart_widen_it() {
        let alike = |cost| [(cost, 1.0); 2];
        for (sets, noise, expected) in [
            (alike(1.05), 0.005, Passage::Slower),
            (alike(1.05), 0.05, Passage::CannotTell),
            ([(1.05, 1.02), (1.05, 1.0)], 0.001, Passage::CannotTell),
            ([(1.07, 1.0), (1.03, 1.0)], 0.001, Passage::CannotTell),
            (alike(1.0), 0.005, Passage::Passes),
            ([(1.0, 1.03), (1.0, 1.0)], 0.001, Passage::CannotTell),
            ([(0.8, 1.02), (0.8, 1.0)], 0.001, Passage::Passes),
            (alike(1.03), 0.001, Passage::CannotTell),
        ] {
            assert_eq!(told(sets, noise).0, expected, "{sets:?} {noise}");
        }
    }

    #[test]
    fn students_interval_has_the_widths_of_two_sets() {
        // s² = (0.02² / 2) / 3, and the mean of two costs has 0.75 of it; t is 3.48 for 3 degrees and 4 %.
        let builds = Builds::of(&rounds([(1.0, 0.02_f64.exp()), (1.0, 1.0)], 0.0)).unwrap();
        assert!((builds.spread - (0.02_f64.powi(2) / 6.0 * 0.75).sqrt()).abs() < 1e-12);
        let times = builds.half(2) / builds.spread;
        assert!((times - 3.482).abs() < 0.001, "{times}");
    }

    #[test]
    fn noise_takes_rounds_and_builds_that_lie_apart_take_builds() {
        let (_, rounds, builds) = told([(1.0, 1.0); 2], 0.06);
        assert!(
            rounds.is_some_and(|rounds| rounds > 30),
            "{rounds:?} {builds:?}"
        );
        let (_, rounds, builds) = told([(1.0, 1.04), (1.0, 1.0)], 0.0001);
        assert_eq!(rounds, None);
        assert!(builds.is_some_and(|builds| builds > 2), "{builds:?}");
        let at_the_bar = told([(1.03, 1.02), (1.03, 1.0)], 0.01);
        assert_eq!(at_the_bar, (Passage::CannotTell, None, None));
    }
}
