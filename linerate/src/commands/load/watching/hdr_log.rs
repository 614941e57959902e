//! A log of histograms, one for each interval, that the tools of HdrHistogram read.
//!
//! The format is that of `HistogramLogWriter` in the original implementation
//! (<https://github.com/HdrHistogram/HdrHistogram>): lines of text with compressed histograms in
//! version 2 of their encoding.

use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriter, IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use model::Histogram;
use model::reading::LatencyReading;

use super::interval::Interval;
use super::named_file::NamedFile;

/// With two digits their buckets are the same as ours: 128 for each power of two.
const DIGITS: u8 = 2;
/// Divisor of the column for people, which readers expect in milliseconds; all else is in
/// nanoseconds.
const NS_PER_MS: f64 = 1e6;

/// The file of a log, and the serializer of its histograms.
pub(super) struct HdrFile {
    file: NamedFile,
    serializer: V2DeflateSerializer,
}

impl HdrFile {
    pub(super) fn new(file: NamedFile) -> Self {
        Self {
            file,
            serializer: V2DeflateSerializer::new(),
        }
    }

    /// Writes the lines before the histograms of a window that opened at `opened_wall_ns`.
    pub(super) fn begin(&mut self, opened_wall_ns: u64) -> io::Result<HdrLog<'_>> {
        let opened = SystemTime::UNIX_EPOCH + Duration::from_nanos(opened_wall_ns);
        let log = IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment(concat!(
                "[Logged with linerate ",
                env!("CARGO_PKG_VERSION"),
                "]"
            ))
            .add_comment("[Values in nanoseconds; the column of maxima in milliseconds]")
            .with_start_time(opened)
            .with_base_time(opened)
            .with_max_value_divisor(NS_PER_MS)
            .begin_log_with(&mut self.file, &mut self.serializer)?;
        Ok(HdrLog { log })
    }
}

/// A log whose first lines are written.
pub(super) struct HdrLog<'f> {
    log: IntervalLogWriter<'f, 'f, NamedFile, V2DeflateSerializer>,
}

impl HdrLog<'_> {
    /// Writes the distributions of an interval. The one that matters most has no tag, which is what
    /// readers use by default.
    pub(super) fn write(&mut self, interval: &Interval) -> io::Result<()> {
        let Some(latency) = &interval.counted.latency else {
            return Ok(());
        };
        for (tag, histogram) in lines(latency) {
            let written = self.log.write_histogram(
                &theirs(histogram)?,
                Duration::from_nanos(interval.from_ns),
                Duration::from_nanos(interval.until_ns - interval.from_ns),
                tag.and_then(Tag::new),
            );
            written.map_err(|error| match error {
                IntervalLogWriterError::IoError(error) => error,
                other @ IntervalLogWriterError::SerializeError(_) => {
                    io::Error::other(other.to_string())
                }
            })?;
        }
        Ok(())
    }
}

fn lines(latency: &LatencyReading) -> Vec<(Option<&'static str>, &Histogram)> {
    if latency.offered_rps > 0.0 {
        vec![
            (None, &latency.response),
            (Some("service"), &latency.service),
            (Some("lateness"), &latency.lateness),
        ]
    } else {
        vec![(None, &latency.service)]
    }
}

/// Converts our histogram into theirs, whose buckets are the same.
fn theirs(ours: &Histogram) -> io::Result<hdrhistogram::Histogram<u64>> {
    let new = hdrhistogram::Histogram::new_with_bounds(1, Histogram::LONGEST_NS, DIGITS);
    let mut histogram = new.map_err(io::Error::other)?;
    for (upper_ns, count) in ours.buckets() {
        histogram
            .record_n(upper_ns, count)
            .map_err(io::Error::other)?;
    }
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_buckets_are_theirs() {
        let mut ours = Histogram::default();
        let values = (0..47).flat_map(|bits| [1_u64 << bits, (1 << bits) * 3 / 2, (2 << bits) - 1]);
        values.for_each(|value| ours.record(value));
        let theirs = theirs(&ours).unwrap();
        let of_theirs: Vec<(u64, u64)> = theirs
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
            .collect();
        assert_eq!(of_theirs, ours.buckets().collect::<Vec<_>>());
    }
}
