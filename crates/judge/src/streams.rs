//! What a path carried, from the saved intervals of a test.

use model::stream_run::{SavedStreams, StreamBlock, StreamWayJudged, StreamsJudged, Way};

use crate::credit::{CarriedBytes, CreditReading, read};

/// Judges a test of streams, whole or cut short.
#[must_use]
pub fn judge_streams(run: &SavedStreams, blocks: &[StreamBlock]) -> StreamsJudged {
    let judged = |way: &Way| {
        let readings = blocks.iter().filter(|block| block.arm == way.name());
        let readings = readings.map(|block| block.reading);
        // A reading without duration is impossible, so it is left out, whoever wrote it.
        let readings = readings.filter(|one| one.seconds > 0.0);
        let retransmits = readings.clone().filter_map(|one| one.retransmits);
        let series = readings.map(|one| CarriedBytes {
            seconds: one.seconds,
            bytes: one.bytes,
        });
        let series: Vec<CarriedBytes> = series.collect();
        let rates = match run.study.carrier.is_known(*way) {
            true => read(&series),
            false => CreditReading::default(),
        };
        StreamWayJudged {
            way: *way,
            seconds: series.iter().map(|one| one.seconds).sum(),
            bytes: series
                .iter()
                .fold(0, |sum: u64, one| sum.saturating_add(one.bytes)),
            retransmits: retransmits.reduce(u64::saturating_add),
            plateaus: rates.plateaus,
            credit: rates.credit,
        }
    };
    StreamsJudged {
        ways: run.arms.iter().map(judged).collect(),
    }
}
