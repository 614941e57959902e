//! Interleaved pairs of ours and the peer's, and what they come to.

use std::fmt;

/// Pairs of every comparison; the design's parity bars want at least 24.
const PAIRS: u32 = 24;

/// Ours against a peer's, as CPU time per request.
pub(crate) struct Comparison {
    title: String,
    commands: [String; 2],
    ours_us: Vec<f64>,
    peers_us: Vec<f64>,
    bar: f64,
}

impl Comparison {
    /// Takes 24 pairs in alternating order. Each closure returns CPU µs per request of one run.
    pub(crate) fn measure(
        title: &str,
        bar: f64,
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

    /// Whether the estimate is at or below the bar.
    pub(crate) fn keeps_its_bar(&self) -> bool {
        self.ratio().0 <= self.bar
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
            "  CPU per request, median: ours {ours:.2} µs, peer {peers:.2} µs"
        )?;
        write!(
            formatter,
            "  ratio {ratio:.3} ({low:.3} … {high:.3}, 95 %, {} pairs); bar {:.2}: {}",
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

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
