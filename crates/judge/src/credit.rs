//! Burst rate, base rate and credit of a path, from a series of readings: the path is a token
//! bucket that fills at the base rate.

use std::ops::Range;

use model::Estimate;
use model::credit::{Credit, Plateau};

use crate::{median, plateaus, student};

/// Two-sided error of the intervals.
const ALPHA: f64 = 0.05;
/// Batches of readings whose medians tell how well a plateau is known, as neighbouring readings
/// share noise.
const BATCHES: usize = 16;
/// Smallest share of the test that the last plateau must last: a shorter one may pass.
const LASTS: f64 = 0.1;
/// A test is over when the ends of the base rate's interval are within this share of it …
const KNOWN_TO: f64 = 0.015;
/// … and the last plateau has at least this many readings.
const SEEN_OFTEN: usize = 20;
/// Readings on either side of a change that may be a part of both plateaus.
const BESIDE: usize = 2;
/// Most readings of a series; of more, neighbours are merged. The time to cut a series into
/// plateaus grows with the square of their number.
const MOST: usize = 3_600;
/// A last reading shorter than this share of the usual length is left out.
const WHOLE: f64 = 0.5;

/// One reading of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarriedBytes {
    /// Its length, s.
    pub seconds: f64,
    /// Bytes carried in that time.
    pub bytes: u64,
}

/// What a series of readings shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreditReading {
    /// The plateaus in order; a single one where nothing changes.
    pub plateaus: Vec<Plateau>,
    /// The credit, where the last plateau is below the one before and the lowest of all.
    pub credit: Option<Credit>,
    /// Whether a longer series would show nothing else.
    pub is_sure: bool,
}

/// Analyses a series that begins with the test.
#[must_use]
pub fn read(series: &[CarriedBytes]) -> CreditReading {
    let series = Series::of(series);
    let ranges = plateaus::of(&series.rates);
    let plateaus: Vec<Plateau> = ranges.iter().map(|range| series.plateau(range)).collect();
    let credit = series.credit(&ranges, &plateaus);
    let is_sure = credit.as_ref().is_some_and(|credit| {
        let Estimate {
            value, low, high, ..
        } = credit.base_bits_per_second;
        let is_near = |end: f64| (end / value - 1.0).abs() <= KNOWN_TO;
        let seen = ranges.last().map_or(0, Range::len);
        is_near(low) && is_near(high) && seen >= SEEN_OFTEN
    });
    CreditReading {
        plateaus,
        credit,
        is_sure,
    }
}

/// Readings with the times at which they begin.
struct Series {
    rates: Vec<f64>,
    seconds: Vec<f64>,
    begins: Vec<f64>,
}

impl Series {
    fn of(readings: &[CarriedBytes]) -> Self {
        let lengths: Vec<f64> = readings.iter().map(|reading| reading.seconds).collect();
        let usual = median::of(&lengths).unwrap_or(0.0);
        let is_cut = readings
            .last()
            .is_some_and(|last| last.seconds < WHOLE * usual);
        let whole = together(&readings[..readings.len() - usize::from(is_cut)]);
        let mut begins = vec![0.0];
        begins.extend(whole.iter().scan(0.0, |end, reading| {
            *end += reading.seconds;
            Some(*end)
        }));
        let rate = |reading: &CarriedBytes| reading.bytes as f64 * 8.0 / reading.seconds.max(1e-9);
        Self {
            rates: whole.iter().map(rate).collect(),
            seconds: whole.iter().map(|reading| reading.seconds).collect(),
            begins,
        }
    }

    /// The plateau of a range, its rate by the readings that lie in it completely.
    fn plateau(&self, range: &Range<usize>) -> Plateau {
        let edge = |is_change: bool| usize::from(is_change && range.len() > plateaus::FEWEST);
        let start = range.start + edge(range.start > 0);
        let end = range.end - edge(range.end < self.rates.len());
        Plateau {
            from_seconds: self.begins[range.start],
            to_seconds: self.begins[range.end],
            bits_per_second: median_by_batches(&self.rates[start..end]),
        }
    }

    fn credit(&self, ranges: &[Range<usize>], plateaus: &[Plateau]) -> Option<Credit> {
        let [.., before, last] = plateaus else {
            return None;
        };
        let cut = ranges.last()?.start;
        let rates = plateaus.iter().map(|one| one.bits_per_second.value);
        let lowest = rates.fold(f64::INFINITY, f64::min);
        let base = last.bits_per_second;
        let all = self.rates.len() as f64;
        // A path that carries nothing at all is broken, and has no bucket.
        if base.value <= 0.0
            || base.value > lowest
            || ((self.rates.len() - cut) as f64) < LASTS * all
        {
            return None;
        }
        let spent_after = self.spent_after(cut, before.bits_per_second, base);
        // Beyond the change there is nothing above the base rate but noise.
        let until = (cut + BESIDE).min(self.rates.len());
        let above = (0..until).map(|at| (self.rates[at] - base.value) * self.seconds[at]);
        let bytes = (above.sum::<f64>() / 8.0).max(0.0);
        let unsure = |end: f64| (end - base.value).abs() * spent_after.value / 8.0;
        let credit_bytes = Estimate {
            value: bytes,
            low: (bytes - unsure(base.high)).max(0.0),
            high: bytes + unsure(base.low),
            n: base.n,
        };
        Some(Credit {
            burst_bits_per_second: plateaus[0].bits_per_second,
            base_bits_per_second: base,
            credit_bytes,
            spent_after_seconds: spent_after,
            refill_seconds: Estimate {
                value: bytes * 8.0 / base.value,
                low: credit_bytes.low * 8.0 / base.high,
                high: credit_bytes.high * 8.0 / base.low.max(1.0),
                n: base.n,
            },
        })
    }

    /// When one plateau gave way to the next. Readings around the change belong to both, in
    /// proportion to what they carried.
    fn spent_after(&self, cut: usize, before: Estimate, after: Estimate) -> Estimate {
        let (first, last) = (
            cut.saturating_sub(BESIDE),
            (cut + BESIDE).min(self.rates.len()),
        );
        let drop = (before.value - after.value).max(f64::MIN_POSITIVE);
        let at_burst = (first..last)
            .map(|at| ((self.rates[at] - after.value) / drop).clamp(0.0, 1.0) * self.seconds[at]);
        let value = self.begins[first] + at_burst.sum::<f64>();
        // As certain as its readings are, and no more certain than half of a reading.
        let half = self.seconds[cut.min(self.seconds.len() - 1)] / 2.0;
        let noise = (before.high - before.low) / 2.0 / drop * f64::from(before.n).sqrt() * half;
        let reach = half.max(noise);
        Estimate {
            value,
            low: (value - reach).max(0.0),
            high: value + reach,
            n: before.n,
        }
    }
}

/// Merges neighbours, as many each time as make the series short enough.
fn together(readings: &[CarriedBytes]) -> Vec<CarriedBytes> {
    let each = readings.len().div_ceil(MOST).max(1);
    let sum = |some: &[CarriedBytes]| CarriedBytes {
        seconds: some.iter().map(|reading| reading.seconds).sum(),
        bytes: some.iter().map(|reading| reading.bytes).sum(),
    };
    readings.chunks(each).map(sum).collect()
}

/// The median, with an interval by Student's t from the medians of batches of neighbours. From a
/// single batch it reaches as far to either side as the median itself.
fn median_by_batches(values: &[f64]) -> Estimate {
    let value = median::of(values).unwrap_or(0.0);
    let length = values.len().div_ceil(BATCHES).max(1);
    let batches: Vec<f64> = values.chunks(length).filter_map(median::of).collect();
    let count = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / count.max(1.0);
    let squares: f64 = batches.iter().map(|batch| (batch - mean).powi(2)).sum();
    let error = (squares / (count - 1.0).max(1.0) / count.max(1.0)).sqrt();
    let reach = match batches.len() {
        0 | 1 => value,
        _ => error * student::two_sided_quantile(ALPHA, count - 1.0),
    };
    Estimate {
        value,
        low: (value - reach).max(0.0),
        high: value + reach,
        n: crate::count(batches.len()),
    }
}
