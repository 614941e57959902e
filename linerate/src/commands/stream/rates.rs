//! The rate of each way from interval to interval, and what it says of the path.

use judge::credit::{CarriedBytes, CreditReading, read};
use traffic::stream::{StreamInterval, Way};

/// A series is read again when it has grown by one part in so many.
const GROWN: usize = 50;

/// What this end sent or received, each way.
pub(super) struct WayRates {
    ways: Vec<(Way, Vec<CarriedBytes>)>,
    /// Whether all that was to be known was known; `None` where that is not asked for.
    pub(super) ended_sure: Option<bool>,
}

impl WayRates {
    pub(super) fn of(ways: &[Way], is_until_sure: bool) -> Self {
        Self {
            ways: ways.iter().map(|way| (*way, Vec::new())).collect(),
            ended_sure: is_until_sure.then_some(false),
        }
    }

    /// Notes an interval; whether it was the last that was wanted.
    pub(super) fn note(&mut self, interval: &StreamInterval) -> bool {
        for (way, series) in &mut self.ways {
            series.push(CarriedBytes {
                seconds: interval.seconds,
                bytes: interval.bytes(*way),
            });
        }
        // An end that was told to end still says what it has begun.
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
