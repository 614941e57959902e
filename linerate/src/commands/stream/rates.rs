//! The rate of each way in each interval, and what it says about the path.

use judge::credit::{CarriedBytes, CreditReading, read};
use traffic::stream::{StreamInterval, Way};

/// A series is judged again when it has grown by one part in this many.
const GROWN: usize = 50;

/// Bytes that this end sent or received in each interval, for each way.
pub(super) struct WayRates {
    ways: Vec<(Way, Vec<CarriedBytes>)>,
    /// Whether credit and base rate of all ways became known; `None` without `--until-sure`.
    pub(super) ended_sure: Option<bool>,
}

impl WayRates {
    pub(super) fn of(ways: &[Way], is_until_sure: bool) -> Self {
        Self {
            ways: ways.iter().map(|way| (*way, Vec::new())).collect(),
            ended_sure: is_until_sure.then_some(false),
        }
    }

    /// Adds an interval; returns whether it was the last that is needed.
    pub(super) fn note(&mut self, interval: &StreamInterval) -> bool {
        for (way, series) in &mut self.ways {
            series.push(CarriedBytes {
                seconds: interval.seconds,
                bytes: interval.bytes(*way),
            });
        }
        // An end that was told to stop still reports the interval that it has begun.
        if self.ended_sure == Some(false) {
            self.ended_sure = Some(self.are_sure());
        }
        self.ended_sure == Some(true)
    }

    /// Whether the credit and the base rate of each way are known.
    fn are_sure(&self) -> bool {
        let mut ways = self.ways.iter();
        ways.all(|(_, series)| {
            let grown = (series.len() / GROWN).max(1);
            series.len().is_multiple_of(grown) && read(series).is_sure
        })
    }

    pub(super) fn read(&self, way: Way) -> Option<CreditReading> {
        let mut ways = self.ways.iter();
        ways.find(|(of, _)| *of == way)
            .map(|(_, series)| read(series))
    }
}
