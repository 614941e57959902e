//! Compares the results of a study with the bars in the table of `bench/README.md`.

use std::fmt;

use anyhow::{Context as _, bail};
use model::judgement::{Change, FactorialJudgement, LevelResult};

const README: &str = include_str!("../../../bench/README.md");
/// Largest cost ratio that counts as "no worse than the peer", if the interval also reaches 1.
const PARITY: f64 = 1.05;
/// Placeholder in the table for the servers that the command line names.
const NAMED: &str = "--against";

/// Limit of the ratio of our cost to the peer's.
#[derive(Debug)]
struct Bar {
    /// Text of the bar, for output.
    shown: String,
    most: f64,
    /// Whether the interval must reach 1 as well.
    is_parity: bool,
}

/// A row of the table, for one bench: the bar for one arm against each of its peers.
#[derive(Debug)]
struct BarRow {
    ours: String,
    peers: Vec<String>,
    /// Title of the metric.
    quantity: String,
    /// Whether more of the quantity is better.
    is_rate: bool,
    goal: Bar,
    /// What was reached so far, where that is not the goal yet: it must not be lost.
    kept: Option<Bar>,
}

/// How many bars were held and which were missed.
#[derive(Debug, Default)]
pub(super) struct Tally {
    held: u32,
    /// Descriptions of the bars whose goal is missed.
    missed: Vec<String>,
    /// Descriptions of the missed bars that lost even what was reached before.
    lost: Vec<String>,
}

/// Compares a judgement with the bars of a bench and prints a line for each, the one that falls
/// furthest short first.
pub(super) fn hold(
    bench: &str,
    named: &[String],
    judgement: &FactorialJudgement,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for row in rows(bench, named)? {
        lines.push(row.hold(judgement, bench, tally)?);
    }
    lines.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    for (_, line) in lines {
        println!("  {line}");
    }
    Ok(())
}

/// The rows of the table for a bench.
fn rows(bench: &str, named: &[String]) -> anyhow::Result<Vec<BarRow>> {
    let lines = README.lines().filter(|line| line.starts_with("| `"));
    let cells = lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect());
    let of_bench = cells.filter(|cells: &Vec<&str>| names(cells[0]).any(|name| name == bench));
    of_bench.map(|cells| row(&cells, named)).collect()
}

fn row(cells: &[&str], named: &[String]) -> anyhow::Result<BarRow> {
    let [_, ours, peers, quantity, goal, kept] = cells else {
        bail!("a row of bars has six cells: {cells:?}");
    };
    let peers = names(peers).flat_map(|name| match name {
        NAMED => named.to_vec(),
        name => vec![name.to_owned()],
    });
    let is_rate = goal.starts_with("at least") || *goal == "no lower";
    // A reason may follow the number.
    let kept = kept.split(',').next().unwrap_or_default();
    let direction = if is_rate { "at least" } else { "at most" };
    Ok(BarRow {
        ours: names(ours).collect(),
        peers: peers.collect(),
        quantity: (*quantity).to_owned(),
        is_rate,
        goal: Bar::parse(goal)?,
        kept: match kept.is_empty() {
            true => None,
            false => Some(Bar::parse(&format!("{direction} {kept}"))?),
        },
    })
}

/// The words of a cell between backticks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

impl Bar {
    /// Parses `at most 0.85` or `parity` for a cost, `at least 1.15` or `no lower` for a rate.
    fn parse(text: &str) -> anyhow::Result<Self> {
        let is_parity = ["parity", "no lower"].contains(&text);
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let most = match text.strip_prefix("at least ") {
            Some(least) => number(least).map(f64::recip),
            None => text.strip_prefix("at most ").and_then(number),
        };
        let most = most.or_else(|| is_parity.then_some(PARITY));
        Ok(Self {
            shown: text.to_owned(),
            most: most.with_context(|| format!("`{text}` is no bar"))?,
            is_parity,
        })
    }

    fn holds(&self, cost: Ratio) -> bool {
        self.shortfall(cost) <= 0.0
    }

    fn words(&self, cost: Ratio) -> String {
        let word = if self.holds(cost) { "held" } else { "MISSED" };
        format!("{}: {word}", self.shown)
    }

    /// Logarithm of the cost over the bar: above 0 where the bar is missed. Parity is also missed
    /// where the whole interval lies above 1.
    fn shortfall(&self, cost: Ratio) -> f64 {
        let estimate = (cost.ratio / self.most).ln();
        match self.is_parity && cost.low > 1.0 {
            true => estimate.max(cost.low.ln()),
            false => estimate,
        }
    }
}

impl BarRow {
    /// Returns the shortfall from the goal and the line to print: the result against the hardest
    /// peer with its bar, then the ratios to the other peers without one.
    fn hold(
        &self,
        judgement: &FactorialJudgement,
        bench: &str,
        tally: &mut Tally,
    ) -> anyhow::Result<(f64, String)> {
        let what = format!("{}, {}", self.quantity, self.ours);
        if self.peers.is_empty() {
            let line = format!("{what} to servers that are named: none was ({NAMED})");
            return Ok((f64::NEG_INFINITY, line));
        }
        let found = self.to_peers(judgement, bench)?;
        let Some(((peer, worst), others)) = found.split_first() else {
            let line = format!("{what}: not measured, as no peer is here");
            return Ok((f64::NEG_INFINITY, line));
        };
        let what = format!("{what} to {peer}");
        let cost = self.cost(*worst);
        tally.note(format!("{bench}: {what}"), self, cost);
        let Ratio { ratio, low, high } = worst;
        let goal = self.goal.words(cost);
        let mut line = format!("{what}: {ratio:.3} ({low:.3} … {high:.3}); bar {goal}");
        if let Some(kept) = &self.kept {
            line += &format!("; kept {}", kept.words(cost));
        }
        let others = others.iter();
        let others = others.map(|(name, found)| format!("{name} {:.3}", found.ratio));
        let others: Vec<String> = others.collect();
        if !others.is_empty() {
            line += &format!("  [the hardest of its peers; to {}]", others.join(", to "));
        }
        Ok((self.goal.shortfall(cost), line))
    }

    /// Ratios of ours to each peer that was measured, the hardest peer first: those that miss the
    /// goal come before those that hold it.
    fn to_peers(
        &self,
        judgement: &FactorialJudgement,
        bench: &str,
    ) -> anyhow::Result<Vec<(&String, Ratio)>> {
        let mut metrics = judgement.metrics.iter();
        let metric = metrics.find(|metric| metric.title == self.quantity);
        let metric = metric.with_context(|| format!("{bench} has no {}", self.quantity))?;
        let peers = self.peers.iter();
        let found = peers
            .filter_map(|peer| Some((peer, Ratio::of(judgement, &metric.name, &self.ours, peer)?)));
        let mut found: Vec<(&String, Ratio)> = found.collect();
        found.sort_by(|(_, one), (_, other)| {
            let [one, other] = [*one, *other].map(|ratio| self.cost(ratio));
            let holds = self.goal.holds(one).cmp(&self.goal.holds(other));
            let shortfall = self.goal.shortfall(other);
            holds.then(shortfall.total_cmp(&self.goal.shortfall(one)))
        });
        Ok(found)
    }

    /// The ratio as one of costs: that of rates, where more is better, is inverted.
    fn cost(&self, ratio: Ratio) -> Ratio {
        if self.is_rate { ratio.inverse() } else { ratio }
    }
}

/// Our value over a peer's, with the interval.
#[derive(Clone, Copy)]
struct Ratio {
    ratio: f64,
    low: f64,
    high: f64,
}

impl Ratio {
    /// The ratio of two arms on a metric, in whichever direction the study compares them.
    fn of(judgement: &FactorialJudgement, metric: &str, ours: &str, peer: &str) -> Option<Self> {
        let is_of_verdicts = judgement.metrics.first()?.name == metric;
        let find = |arm: &str, other: &str| {
            let is_it = |found: &&LevelResult| found.arm == arm && other_arm(found) == other;
            let found = judgement.contrasts.iter().find(is_it)?;
            if is_of_verdicts {
                return Self::of_change(&found.change);
            }
            let change = found.beside.iter().find(|beside| beside.metric == metric)?;
            Self::of_change(&change.change)
        };
        find(ours, peer).or_else(|| find(peer, ours).map(Self::inverse))
    }

    /// Values that never vary have no effect with an interval; they get one without width.
    fn of_change(change: &Change) -> Option<Self> {
        let ratio = change.ratio()?;
        let interval = change.effect().map(|effect| (effect.low, effect.high));
        let (low, high) = interval.unwrap_or((ratio, ratio));
        Some(Self { ratio, low, high })
    }

    fn inverse(self) -> Self {
        Self {
            ratio: self.ratio.recip(),
            low: self.high.recip(),
            high: self.low.recip(),
        }
    }
}

/// The name of the arm that a contrast is against. In the studies of benches an arm's name starts
/// with the level of the compared factor.
fn other_arm(contrast: &LevelResult) -> String {
    let rest = contrast.arm.strip_prefix(&contrast.level);
    format!("{}{}", contrast.against, rest.unwrap_or_default())
}

impl Tally {
    fn note(&mut self, what: String, row: &BarRow, cost: Ratio) {
        if !row.kept.as_ref().unwrap_or(&row.goal).holds(cost) {
            self.lost.push(what.clone());
        }
        if row.goal.holds(cost) {
            self.held += 1;
        } else {
            self.missed.push(what);
        }
    }

    /// Whether nothing that was reached before is lost.
    pub(super) fn is_kept(&self) -> bool {
        self.lost.is_empty()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (held, missed) = (self.held, self.missed.len());
        write!(formatter, "\n{held} bars held, {missed} missed")?;
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

    /// The judgement of a study of servers. Each contrast is given by its arm, the other arm and
    /// the ratio; its interval reaches 2 % to either side.
    fn judgement(contrasts: &[(&str, &str, f64)]) -> FactorialJudgement {
        let contrasts = contrasts.iter().map(|(arm, against, ratio)| {
            let effect = serde_json::json!({ "ratio": ratio, "low": ratio * 0.98, "high": ratio * 1.02,
                "n": 24, "alpha": 0.05, "p_value": 0.5 });
            // The verdict is about the cost.
            let rate = serde_json::json!({ "metric": "rate", "change": { "estimated": effect } });
            serde_json::json!({ "cell": {}, "arm": arm, "level": arm, "against": against,
                "verdict": "inconclusive", "change": { "estimated": effect }, "beside": [rate] })
        });
        let metric = |name, better| serde_json::json!({ "name": name, "title": name, "unit": "", "better": better });
        let judgement = serde_json::json!({ "format": 1, "compare": "server", "arms": [], "means": [],
            "metrics": [metric("cost", "lower"), metric("rate", "higher")], "interactions": [],
            "contrasts": contrasts.collect::<Vec<_>>(), "rounds_done": 24, "rounds_planned": 24, "doubts": [] });
        serde_json::from_value(judgement).unwrap()
    }

    /// The line and the tally of a row that is about `a`.
    fn held(cells: [&str; 4], contrasts: &[(&str, &str, f64)]) -> (String, Tally) {
        let [peers, quantity, goal, kept] = cells;
        let row = row(
            &["", "`a`", peers, quantity, goal, kept],
            &["named".to_owned()],
        )
        .unwrap();
        let mut tally = Tally::default();
        let (_, line) = row
            .hold(&judgement(contrasts), "bench", &mut tally)
            .unwrap();
        (line, tally)
    }

    fn holds(quantity: &str, goal: &str, ratio: f64) -> bool {
        held(["`b`", quantity, goal, ""], &[("a", "b", ratio)])
            .1
            .is_kept()
    }

    #[test]
    fn parity_is_kept_by_what_is_as_good_and_missed_by_what_is_surely_worse() {
        assert!(holds("cost", "parity", 0.9) && holds("cost", "parity", 1.01));
        assert!(!holds("cost", "parity", 1.04), "its interval lies above 1");
        assert!(!holds("cost", "parity", 1.2));
        assert!(holds("rate", "no lower", 1.3) && holds("rate", "no lower", 0.99));
        assert!(
            !holds("rate", "no lower", 0.97),
            "its interval lies below 1"
        );
        assert!(holds("cost", "at most 1.05", 1.04) && !holds("cost", "at most 1.05", 1.2));
        assert!(holds("rate", "at least 1.5", 1.6) && !holds("rate", "at least 1.5", 1.4));
    }

    #[test]
    fn a_bar_is_held_against_the_hardest_of_the_peers_that_are_there() {
        // The study compares c with a; the row asks the other way round.
        let contrasts = [("a", "b", 0.4), ("c", "a", 1.25)];
        let (line, tally) = held(
            ["`b`, `c`, `absent`", "cost", "at most 0.79", ""],
            &contrasts,
        );
        assert_eq!(tally.missed, ["bench: cost, a to c"]);
        assert!(
            line.ends_with("at most 0.79: MISSED  [the hardest of its peers; to b 0.400]"),
            "{line}"
        );
        let (line, _) = held(["`b`, `c`", "rate", "at least 0.39", ""], &contrasts);
        assert!(
            line.starts_with("rate, a to b: 0.400 (0.392 … 0.408)"),
            "{line}"
        );
    }

    #[test]
    fn without_a_peer_nothing_is_held_and_nothing_missed() {
        let (line, tally) = held(["`absent`", "cost", "parity", ""], &[]);
        assert!(line.ends_with("not measured, as no peer is here") && tally.held == 0);
        let (line, _) = held(
            ["`--against`", "cost", "parity", ""],
            &[("a", "named", 0.8)],
        );
        assert!(line.starts_with("cost, a to named: 0.800"), "{line}");
    }

    #[test]
    fn a_goal_that_is_missed_is_told_from_what_was_reached_and_lost() {
        let kept = ["`b`", "cost", "at most 0.80", "0.90, since a run"];
        let (line, tally) = held(kept, &[("a", "b", 0.87)]);
        assert!(
            line.ends_with("bar at most 0.80: MISSED; kept at most 0.90: held"),
            "{line}"
        );
        assert!(tally.is_kept());
        let (_, tally) = held(kept, &[("a", "b", 0.93)]);
        let said = tally.to_string();
        assert!(
            !tally.is_kept() && said.contains("0 bars held, 1 missed"),
            "{said}"
        );
        assert!(
            said.ends_with("missed: bench: cost, a to b, and what was reached is LOST"),
            "{said}"
        );
    }

    #[test]
    fn every_bench_has_bars_in_the_table_and_every_row_is_of_a_bench() {
        let benches = crate::bench::BENCHES.map(|bench| bench.name);
        let of_benches = benches.map(|bench| rows(bench, &[]).unwrap().len());
        assert!(of_benches.iter().all(|rows| *rows > 0), "{of_benches:?}");
        let table = README.lines().filter(|line| line.starts_with("| `"));
        let named: Vec<&str> = table
            .flat_map(|line| names(line.split('|').nth(1).unwrap()))
            .collect();
        assert_eq!(of_benches.iter().sum::<usize>(), named.len(), "{named:?}");
    }
}
