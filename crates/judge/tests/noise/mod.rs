//! Noise like that of shared machines, made from a seed, so that simulations give the same results
//! everywhere.

/// SplitMix64: a small generator that takes any seed, and good enough even where one bit decides a
/// sign.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to 1, evenly distributed, without 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// A standard normal number, by the method of Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }

    #[expect(clippy::cast_possible_truncation, reason = "an index below the length")]
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = (self.share() * (last + 1) as f64) as usize;
            items.swap(last, other);
        }
    }
}

/// The noise of blocks that follow one another: log AR(1), with a drift, episodes and spikes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    /// Correlation of the logarithms of neighbouring blocks.
    pub(crate) phi: f64,
    /// Standard deviation of the logarithm.
    pub(crate) sigma: f64,
    /// Chance that an episode starts at a block.
    pub(crate) episode_starts: f64,
}

/// One block in twenty starts an episode, so that two in five lie in one.
pub(crate) const MANY_EPISODES: f64 = 0.05;
/// Robust CV 44 %: the median distance from the median of exp(0.4515 z) is 0.44 / 1.4826.
pub(crate) const HARSH: Noise = Noise {
    phi: 0.94,
    sigma: 0.4515,
    episode_starts: MANY_EPISODES,
};
/// Robust CV 17 %, computed in the same way.
pub(crate) const MILD: Noise = Noise {
    phi: 0.71,
    sigma: 0.1706,
    episode_starts: MANY_EPISODES,
};

/// Drift over a series: from −10 % at one end to +10 % at the other, rising or falling.
const DRIFT: f64 = 0.10;
/// Length of an episode, in blocks, and the factor by which it multiplies their values.
const EPISODE_BLOCKS: usize = 10;
const EPISODE_FACTOR: f64 = 0.5;
const SPIKES: f64 = 0.02;
const SPIKE_FACTOR: f64 = 0.3;

impl Noise {
    /// Logarithms of the factors on the blocks of one run.
    pub(crate) fn series(self, blocks: usize, random: &mut Random) -> Vec<f64> {
        let innovation = self.sigma * (1.0 - self.phi * self.phi).sqrt();
        let sign = if random.happens(0.5) { 1.0 } else { -1.0 };
        let mut level = self.sigma * random.normal();
        let mut episode_left = 0;
        (0..blocks)
            .map(|block| {
                if block > 0 {
                    level = self.phi * level + innovation * random.normal();
                }
                if random.happens(self.episode_starts) {
                    episode_left = EPISODE_BLOCKS;
                }
                let position = 2.0 * block as f64 / (blocks.max(2) - 1) as f64 - 1.0;
                let mut log = level + (sign * DRIFT * position).ln_1p();
                if episode_left > 0 {
                    episode_left -= 1;
                    log += EPISODE_FACTOR.ln();
                }
                if random.happens(SPIKES) {
                    log += SPIKE_FACTOR.ln();
                }
                log
            })
            .collect()
    }
}
