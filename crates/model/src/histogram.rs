//! A log-linear histogram of durations: fixed memory, mergeable, cheap to record into.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Sub-buckets per power of two, as a power of two: 128, so a value is known to within 0.8 %.
const SUB_BITS: u32 = 7;
const SUB_COUNT: usize = 1 << SUB_BITS;
/// All values from 2^47 ns (39 hours) share the last bucket: a load may wait a day for an answer.
const MAX_BITS: u32 = 47;
pub(crate) const BUCKETS: usize = ((MAX_BITS - SUB_BITS + 1) as usize) * SUB_COUNT;

/// Counts of durations in nanoseconds, from 0 to 39 hours, each known to within 0.8 %.
#[derive(Clone)]
pub struct Histogram {
    /// Counts of all buckets; empty as long as `read` holds the counts.
    counts: Box<[u64]>,
    /// The filled buckets of a histogram that was deserialized, shortest first. All buckets would
    /// take 42 KB, however short the text was.
    read: Vec<(usize, u64)>,
    total: u64,
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.total == other.total && self.filled().eq(other.filled())
    }
}

impl Eq for Histogram {}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS].into_boxed_slice(),
            read: Vec::new(),
            total: 0,
        }
    }
}

impl Histogram {
    /// The longest duration that it can represent, ns.
    pub const LONGEST_NS: u64 = (1 << MAX_BITS) - 1;

    /// Counts one duration; one beyond [`Self::LONGEST_NS`] counts as the longest.
    #[inline]
    pub fn record(&mut self, duration_ns: u64) {
        let bucket = bucket_of(duration_ns);
        if bucket >= self.counts.len() {
            self.spread();
        }
        self.counts[bucket] += 1;
        self.total += 1;
    }

    /// Copies what was read into one bucket each, so that more can be counted.
    #[cold]
    fn spread(&mut self) {
        let mut counts = vec![0; BUCKETS].into_boxed_slice();
        self.filled()
            .for_each(|(bucket, count)| counts[bucket] = count);
        self.counts = counts;
        self.read = Vec::new();
    }

    /// Builds a histogram from the counts of all buckets, shortest first.
    pub(crate) fn of_counts(counts: impl Iterator<Item = u64>) -> Self {
        let mut histogram = Self::default();
        for (mine, count) in histogram.counts.iter_mut().zip(counts) {
            *mine = count;
            histogram.total = histogram.total.saturating_add(count);
        }
        histogram
    }

    /// Returns what was counted since an earlier copy of this histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let (mut now, mut then) = (self.clone(), earlier.clone());
        now.spread();
        then.spread();
        let counts = now.counts.iter().zip(&then.counts);
        Self::of_counts(counts.map(|(now, then)| now.saturating_sub(*then)))
    }

    /// Number of durations counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds the counts of another histogram to this one. Counts from a remote host or a run folder
    /// may be arbitrary, so sums saturate.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.is_empty() {
            self.spread();
        }
        for (bucket, theirs) in other.filled() {
            let mine = &mut self.counts[bucket];
            *mine = mine.saturating_add(theirs);
        }
        self.total = self.total.saturating_add(other.total);
    }

    /// The duration in ns that the share `quantile` (0 to 1) of the counts does not exceed: the
    /// upper edge of the bucket that holds that rank. `None` while nothing is counted.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a rank lies between 0 and the total"
    )]
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        // Slightly less, since 99.9 / 100 is a little more than it should be.
        let rank = (quantile.clamp(0.0, 1.0) * self.total as f64 - 1e-6).ceil() as u64;
        self.at_rank(rank.max(1))
    }

    /// The quantile; `None` if fewer than ten observations lie beyond it, which are too few for it.
    pub fn carried(&self, quantile: f64) -> Option<u64> {
        const BEYOND: f64 = 10.0;
        let beyond = self.total as f64 * (1.0 - quantile);
        // The small summand makes up for 1 − 0.99, which is a little less than it should be.
        (beyond + 1e-6 >= BEYOND).then(|| self.quantile(quantile))?
    }

    /// The duration in ns at a rank from 1 to `total`, counted from the shortest.
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut seen: u64 = 0;
        self.filled().find_map(|(index, count)| {
            seen = seen.saturating_add(count);
            (seen >= rank).then(|| upper_edge_of(index))
        })
    }

    /// Mean in ns, from the middles of buckets. `None` while nothing is counted.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self
            .filled()
            .map(|(index, count)| middle_of(index) * count as f64)
            .sum();
        (self.total > 0).then(|| sum / self.total as f64)
    }

    /// The filled buckets, shortest first: upper edge in ns, and count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.filled()
            .map(|(index, count)| (upper_edge_of(index), count))
    }

    fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let counts = self.counts.iter().copied().enumerate();
        let read = self.read.iter().copied();
        read.chain(counts.filter(|(_, count)| *count > 0))
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "Histogram({} counted, median {:?} ns)",
            self.total,
            self.quantile(0.5)
        )
    }
}

/// Describes the buckets to those who read a histogram without this program.
const SHAPE: &str = "Filled buckets of a log-linear histogram, shortest first, each as [bucket, count]: with \
                     g = max(0, ⌊bucket ÷ 128⌋ − 1), a bucket begins at (bucket − 128 × g) × 2^g ns and is \
                     2^g ns wide";

/// Serialized as pairs `[bucket, count]` of the filled buckets: a hundred numbers instead of five
/// thousand.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.filled())
    }
}

impl JsonSchema for Histogram {
    fn schema_name() -> Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut pairs = Vec::<(u16, u64)>::json_schema(generator);
        pairs.insert("description".to_owned(), SHAPE.into());
        pairs
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut read = Vec::<(usize, u64)>::deserialize(deserializer)?;
        if let Some((index, _)) = read.iter().find(|(index, _)| *index >= BUCKETS) {
            let what = format!("histogram bucket {index} is beyond {BUCKETS}");
            return Err(serde::de::Error::custom(what));
        }
        read.sort_unstable_by_key(|(index, _)| *index);
        read.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            is_same
        });
        read.retain(|(_, count)| *count > 0);
        read.shrink_to_fit();
        let counts = read.iter().map(|(_, count)| *count);
        Ok(Self {
            total: counts.fold(0, u64::saturating_add),
            counts: Box::default(),
            read,
        })
    }
}

/// Index of a value's bucket. Values below 128 have a bucket each; above that, the leading bit
/// selects the group of 128 and the seven bits after it select the bucket within the group.
#[inline]
pub(crate) fn bucket_of(value: u64) -> usize {
    let value = value.min(Histogram::LONGEST_NS);
    let group = (u64::BITS - value.leading_zeros()).saturating_sub(SUB_BITS + 1);
    let within = (value >> group) as usize;
    group as usize * SUB_COUNT + within
}

fn lower_edge_of(index: usize) -> u64 {
    let group = (index / SUB_COUNT).saturating_sub(1);
    ((index - group * SUB_COUNT) as u64) << group
}

fn upper_edge_of(index: usize) -> u64 {
    lower_edge_of(index + 1) - 1
}

fn middle_of(index: usize) -> f64 {
    (lower_edge_of(index) + upper_edge_of(index)) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_within_its_bucket_and_the_bucket_is_narrow() {
        for bits in 0..MAX_BITS {
            for value in [1_u64 << bits, (1_u64 << bits) + 1, (1_u64 << bits) * 3 / 2] {
                let index = bucket_of(value);
                assert!(lower_edge_of(index) <= value && value <= upper_edge_of(index));
                let width = upper_edge_of(index) - lower_edge_of(index);
                assert!(
                    width as f64 <= value as f64 / 127.0,
                    "{value}: width {width}"
                );
            }
        }
        assert!(bucket_of(u64::MAX) < BUCKETS);
    }

    #[test]
    fn quantiles_of_a_thousand_even_values_are_within_one_percent() {
        let mut histogram = Histogram::default();
        (1..=1000_u64).for_each(|value| histogram.record(value * 1000));
        for (quantile, expected) in [(0.5, 500_000.0), (0.99, 990_000.0), (1.0, 1_000_000.0)] {
            let found = histogram.quantile(quantile).unwrap() as f64;
            assert!((found / expected - 1.0).abs() < 0.01, "{quantile}: {found}");
        }
    }

    #[test]
    fn a_wait_of_up_to_a_day_counts_as_long_as_it_was() {
        for seconds in [68_u64, 70, 900, 86_400] {
            let mut histogram = Histogram::default();
            histogram.record(seconds * 1_000_000_000);
            let found = histogram.quantile(1.0).unwrap() as f64 / 1e9;
            assert!((found / seconds as f64 - 1.0).abs() < 0.01, "{found} s");
        }
    }

    #[test]
    fn the_differences_of_readings_add_up_to_the_last_of_them() {
        let mut histogram = Histogram::default();
        let mut sum = Histogram::default();
        let mut earlier = histogram.clone();
        for value in [0, 5, 127, 127, 999_999, u64::MAX] {
            histogram.record(value);
            let piece = histogram.since(&earlier);
            assert_eq!(piece.total(), 1);
            sum.merge(&piece);
            earlier = histogram.clone();
        }
        assert_eq!(sum, histogram);
    }

    #[test]
    fn saving_and_reading_back_gives_the_same_histogram() {
        let mut histogram = Histogram::default();
        for value in [0, 5, 127, 128, 999_999, u64::MAX] {
            histogram.record(value);
        }
        let text = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
        assert!(serde_json::from_str::<Histogram>("[[99999,1]]").is_err());
    }

    #[test]
    fn counts_that_cannot_be_are_merged_and_ranked_all_the_same() {
        let full = format!("[[1,{0}],[2,{0}]]", u64::MAX);
        let absurd: Histogram = serde_json::from_str(&full).unwrap();
        let mut both = absurd.clone();
        both.merge(&absurd);
        assert_eq!(both.total(), u64::MAX);
        assert_eq!(both.since(&Histogram::default()), both);
        assert_eq!(both.quantile(0.5), Some(1));
        assert_eq!(both.at_rank(u64::MAX), Some(1));
    }
}
