//! Interleaved pairs of ours and the peer's, and what they come to.

use std::fmt;

/// Pairs of every comparison; the design's parity bars want at least 24.
const PAIRS: u32 = 24;

/// Estimate up to which "no worse than the peer" holds, if the interval also reaches 1.
const PARITY: f64 = 1.05;

/// How the ratio of ours to the peer's must come out.
#[derive(Clone, Copy)]
pub(crate) enum Bar {
    /// The estimate is at most this.
    AtMost(f64),
    /// The goal is not reached yet, and is said to be missed; what was reached must not be lost.
    Ratchet { goal: f64, reached: f64 },
    /// No worse: the estimate at most 1.05 and the lower bound at most 1.
    Parity,
}

/// Ours against a peer's, as some time per request.
pub(crate) struct Comparison {
    title: String,
    /// What the times are, such as "CPU per request".
    quantity: &'static str,
    commands: [String; 2],
    ours_us: Vec<f64>,
    peers_us: Vec<f64>,
    bar: Bar,
}

impl Comparison {
    /// Takes 24 pairs in alternating order. Each closure returns the µs per request of one run.
    pub(crate) fn measure(
        title: &str,
        quantity: &'static str,
        bar: Bar,
        commands: [String; 2],
        mut ours: impl FnMut() -> anyhow::Result<f64>,
        mut peers: impl FnMut() -> anyhow::Result<f64>,
    ) -> anyhow::Result<Self> {
        let (mut ours_us, mut peers_us) = (Vec::new(), Vec::new());
        for pair in 0..PAIRS {
            if pair % 2 == 0 {
                ours_us.push(ours()?);
                peers_us.push(peers()?);
            } else {
                peers_us.push(peers()?);
                ours_us.push(ours()?);
            }
        }
        Ok(Self {
            title: title.to_owned(),
            quantity,
            commands,
            ours_us,
            peers_us,
            bar,
        })
    }

    fn ratio(&self) -> (f64, f64, f64) {
        let pairs = self.ours_us.iter().zip(&self.peers_us);
        let differences: Vec<f64> = pairs.map(|(ours, peers)| (ours / peers).ln()).collect();
        let effect = judge::signed_rank::effect(&differences, 0.05);
        effect.map_or((f64::NAN, f64::NAN, f64::NAN), |found| {
            (found.ratio, found.low, found.high)
        })
    }

    pub(crate) fn keeps_its_bar(&self) -> bool {
        let (ratio, low, _) = self.ratio();
        match self.bar {
            Bar::AtMost(bar) | Bar::Ratchet { reached: bar, .. } => ratio <= bar,
            Bar::Parity => ratio <= PARITY && low <= 1.0,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ratio, low, high) = self.ratio();
        writeln!(formatter, "\n{}", self.title)?;
        writeln!(
            formatter,
            "  ours: {}\n  peer: {}",
            self.commands[0], self.commands[1]
        )?;
        let (ours, peers) = (median(&self.ours_us), median(&self.peers_us));
        writeln!(
            formatter,
            "  {}, median: ours {ours:.2} µs, peer {peers:.2} µs",
            self.quantity
        )?;
        write!(
            formatter,
            "  ratio {ratio:.3} ({low:.3} … {high:.3}, 95 %, {} pairs); bar {}: {}",
            self.ours_us.len(),
            self.bar,
            if self.keeps_its_bar() {
                "kept"
            } else {
                "MISSED"
            }
        )
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(bar) => write!(formatter, "{bar:.2}"),
            Self::Ratchet { goal, reached } => {
                write!(formatter, "{reached:.2} (its goal of {goal:.2} is open)")
            }
            Self::Parity => write!(formatter, "{PARITY:.2} with a lower bound of 1 or less"),
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 24 pairs in which ours takes so many times as long, with a spread of 2 %.
    fn comparison(ratio: f64, bar: Bar) -> Comparison {
        let mut peer = 10.0;
        let mut spread = [0.98, 1.02, 0.99, 1.01].into_iter().cycle();
        let mut ours = || Ok(10.0 * ratio * spread.next().unwrap_or(1.0));
        let mut peers = || {
            peer += 0.01;
            Ok(peer)
        };
        let commands = [String::new(), String::new()];
        Comparison::measure("", "time", bar, commands, &mut ours, &mut peers).unwrap()
    }

    #[test]
    fn parity_is_kept_by_what_is_as_fast_and_missed_by_what_is_surely_slower() {
        assert!(comparison(0.9, Bar::Parity).keeps_its_bar());
        assert!(comparison(1.01, Bar::Parity).keeps_its_bar());
        assert!(
            !comparison(1.04, Bar::Parity).keeps_its_bar(),
            "its interval lies above 1"
        );
        assert!(!comparison(1.2, Bar::Parity).keeps_its_bar());
        assert!(comparison(1.04, Bar::AtMost(1.05)).keeps_its_bar());
    }

    #[test]
    fn a_ratchet_keeps_what_was_reached_and_names_the_goal_that_is_open() {
        let bar = Bar::Ratchet {
            goal: 0.80,
            reached: 0.90,
        };
        assert!(comparison(0.87, bar).keeps_its_bar());
        assert!(!comparison(0.93, bar).keeps_its_bar());
        assert_eq!(bar.to_string(), "0.90 (its goal of 0.80 is open)");
    }
}
