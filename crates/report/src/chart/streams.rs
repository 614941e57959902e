//! The rate that a path carried over time, and its plateaus.

use model::stream_run::{StreamBlock, StreamWayJudged, Way};

use super::canvas::{At, Ink};
use super::xy::{Curve, Curves, Panel, Rise};

/// The most points of a line; more cannot be told apart on a page.
const MOST_POINTS: usize = 1_000;

/// Charts the rate of each way; also returns how many intervals each point stands for.
pub(crate) fn rates(blocks: &[StreamBlock], ways: &[StreamWayJudged]) -> (Curves, usize) {
    let count = |way: &StreamWayJudged| {
        blocks
            .iter()
            .filter(|block| block.arm == way.way.name())
            .count()
    };
    let longest = ways.iter().map(count).max().unwrap_or(0);
    let per_point = longest.div_ceil(MOST_POINTS).max(1);
    let panel = |way: &StreamWayJudged| {
        let line = |title: &str, ink, path| Curve {
            title: title.to_owned(),
            ink,
            path,
            points: Vec::new(),
        };
        Panel {
            title: match ways.len() {
                1 => String::new(),
                _ => way.way.name().to_owned(),
            },
            lines: vec![
                line("carried", Ink::Muted, carried(blocks, way.way, per_point)),
                line("plateau", Ink::Accent, steps(way)),
            ],
            ..Panel::default()
        }
    };
    let chart = Curves {
        heading: "Gbit/s carried, by time".to_owned(),
        remark: String::new(),
        panels: ways.iter().map(panel).collect(),
        columns: 1,
        height: 220.0,
        below: "seconds",
        places: Vec::new(),
        rise: Rise::FromZero,
        unit: "Gbit/s".to_owned(),
        resumed: Vec::new(),
    };
    (chart, per_point)
}

/// Averages over `per_point` intervals each: the middle of their time, s, and the rate, Gbit/s.
fn carried(blocks: &[StreamBlock], way: Way, per_point: usize) -> Vec<At> {
    let readings = blocks.iter().filter(|block| block.arm == way.name());
    let readings: Vec<(f64, f64)> = readings
        .map(|block| (block.reading.seconds, block.reading.bytes as f64))
        .collect();
    let mut begin = 0.0;
    let groups = readings.chunks(per_point).map(|group| {
        let seconds: f64 = group.iter().map(|one| one.0).sum();
        let bytes: f64 = group.iter().map(|one| one.1).sum();
        let middle = begin + seconds / 2.0;
        begin += seconds;
        (middle, bytes * 8e-9 / seconds.max(1e-9))
    });
    groups.collect()
}

fn steps(way: &StreamWayJudged) -> Vec<At> {
    let ends = way.plateaus.iter().flat_map(|one| {
        let rate = one.bits_per_second.value / 1e9;
        [(one.from_seconds, rate), (one.to_seconds, rate)]
    });
    ends.collect()
}
