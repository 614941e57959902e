//! Saves each interval of a test in a run folder before it is printed: a test that is killed loses
//! none.

use std::path::Path;

use model::BlockRecord;
use model::run::{Begun, Phase, Rig};
use model::stream_run::{
    SavedStreams, StreamBlock, StreamEnding, StreamKind, StreamReading, StreamTest,
};
use study::store::{KeptIn, Store};
use traffic::stream::{StreamInterval, StreamPlan, StreamUntil, Way};

use super::Streams;
use crate::console::Console;

/// A test and the run folder to which it adds.
pub(super) struct KeptTest {
    /// Nowhere, once adding to it has failed; the test goes on.
    folder: KeptIn,
    run: SavedStreams,
    intervals: u32,
}

impl KeptTest {
    /// Claims a new folder, before anything is sent.
    pub(super) fn begin(
        folder: &Path,
        plan: &StreamPlan,
        target: &str,
        rig: Rig,
    ) -> anyhow::Result<Self> {
        let claimed = Store::claim(folder)?;
        let words = std::env::args_os().skip(1);
        let words = words.map(|word| word.to_string_lossy().into_owned());
        let command = format!("linerate {}", shell_words::join(words));
        let by = Begun::at(sys::clock::wall(), command, 0);
        let test = StreamTest {
            workload: StreamKind::Stream,
            target: target.to_owned(),
            carrier: plan.carrier,
            streams: plan.streams,
            asked_seconds: match plan.until {
                StreamUntil::Time(time) => Some(time.as_secs_f64()),
                StreamUntil::Bytes(_) => None,
            },
            ending: None,
        };
        let facts = machine::facts::collect(false);
        let run = SavedStreams {
            rig,
            ..SavedStreams::begun(test, plan.ways.clone(), facts, by)
        };
        Ok(Self {
            folder: KeptIn::Claimed(claimed),
            run,
            intervals: 0,
        })
    }

    /// Saves an interval; the first creates the run.
    pub(super) fn note(&mut self, interval: &StreamInterval, console: &Console) {
        let places = (0_u32..).zip(&self.run.arms);
        let blocks = places.map(|(place, way)| block(interval, *way, (self.intervals, place)));
        let opened = std::mem::take(&mut self.folder).opened(&self.run);
        let added = opened.and_then(|store| {
            let Some(mut store) = store else {
                return Ok(KeptIn::Nowhere);
            };
            for block in blocks {
                store.append(&block)?;
            }
            Ok(KeptIn::Open(store))
        });
        self.folder = added.unwrap_or_else(|error| {
            console.error(&format!("no more intervals are saved: {error}"));
            KeptIn::Nowhere
        });
        self.intervals += 1;
    }

    /// Saves how the test ended; returns whether there is a run.
    pub(super) fn end(mut self, streams: &Streams, console: &Console) -> bool {
        let limits = streams.ways.iter().map(|way| way.limit_words.to_owned());
        self.run.study.ending = Some(StreamEnding {
            limits: limits.collect(),
            cpu_seconds_per_gb: streams.cpu_seconds_per_gb,
            broken: streams.broken.clone(),
        });
        let KeptIn::Open(store) = self.folder else {
            return false;
        };
        if let Err(error) = store.describe_again(&self.run) {
            console.error(&format!("how the test ended is not saved: {error}"));
        }
        true
    }
}

fn block(interval: &StreamInterval, way: Way, (round, position): (u32, u32)) -> StreamBlock {
    let streams = || interval.streams.iter().filter(|one| one.way == way);
    let tcp = || streams().filter_map(|one| one.tcp);
    let again = tcp().map(|tcp| tcp.retransmits);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts of floats saturate"
    )]
    let at_ms = (interval.start_seconds * 1e3) as u64;
    BlockRecord {
        phase: Phase::Interval,
        epoch: 0,
        round,
        position,
        arm: way.name().to_owned(),
        at_ms,
        reading: StreamReading {
            seconds: interval.seconds,
            bytes: streams().map(|one| one.bytes).sum(),
            retransmits: again.reduce(u64::saturating_add).filter(|_| way == Way::Up),
            rtt_us: tcp().map(|tcp| tcp.rtt_us).max(),
        },
    }
}
