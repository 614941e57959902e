//! The rate of each way from interval to interval, and what it says of the path.

use std::ops::ControlFlow;

use judge::credit::{CarriedBytes, CreditReading, read};
use traffic::stream::{StreamInterval, Way};

/// A series is read again when it has grown by one part in so many.
const GROWN: usize = 50;

/// What this end sent or received, each way.
pub(super) struct WayRates {
    ways: Vec<(Way, Vec<CarriedBytes>)>,
}

impl WayRates {
    pub(super) fn of(ways: &[Way]) -> Self {
        Self {
            ways: ways.iter().map(|way| (*way, Vec::new())).collect(),
        }
    }

    pub(super) fn note(&mut self, interval: &StreamInterval) {
        for (way, series) in &mut self.ways {
            let streams = interval.streams.iter().filter(|one| one.way == *way);
            series.push(CarriedBytes {
                seconds: interval.seconds,
                bytes: streams.map(|one| one.bytes).sum(),
            });
        }
    }

    /// Whether the credit and the baseline of each way are known.
    pub(super) fn are_sure(&self) -> ControlFlow<()> {
        let is_due =
            |series: &[CarriedBytes]| series.len().is_multiple_of((series.len() / GROWN).max(1));
        let is_sure = |series: &[CarriedBytes]| is_due(series) && read(series).is_sure;
        match self.ways.iter().all(|(_, series)| is_sure(series)) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    pub(super) fn read(&self, way: Way) -> Option<CreditReading> {
        let mut ways = self.ways.iter();
        ways.find(|(of, _)| *of == way)
            .map(|(_, series)| read(series))
    }
}
