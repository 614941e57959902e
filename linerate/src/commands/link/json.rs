//! What a link carried, as one JSON value of a stable shape.

use agent::link::Carried;
use model::link::{LinkPlan, LinkReading, LinkTally, QdiscReading};
use schemars::JsonSchema;
use serde::Serialize;

use super::LinkReport;
use crate::commands::quantiles::Quantiles;
use crate::shape;
use model::doubt::{WordedDoubt, worded};

/// An emulated link while a command ran: what it was asked to be and what it carried.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LinkShape {
    /// Version of the program.
    linerate_version: &'static str,
    /// What the link was asked to be.
    plan: LinkPlan,
    /// Exit code of the command; 128 and the signal's number where a signal ended it.
    exit_code: u8,
    /// How long the command ran, s.
    elapsed_seconds: f64,
    /// Whether the link's threads went before all ordinary ones (SCHED_FIFO), which needs root;
    /// null where the kernel carried.
    goes_first: Option<bool>,
    /// What was carried from the client to the server.
    up: CarriedDirection,
    /// What was carried from the server to the client.
    down: CarriedDirection,
    /// Where the link was not what it was asked to be.
    doubts: Vec<WordedDoubt>,
}

/// What one direction did.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum CarriedDirection {
    /// Our own process carried.
    Userspace {
        /// What became of the packets; offered is the sum of carried, lost, dropped, unheld,
        /// unfinished, refused and held.
        tally: LinkTally,
        /// Packets that came while the link had no time to take them, not in the tally, count.
        missed_packets: u64,
        /// Packets that may have waited more than 0.2 ms at their TUN device until the link read
        /// them, which is in none of the times, count; from when it last looked or woke, so that
        /// how late it woke for a packet is not counted; 0 by packet sockets, to which the kernel
        /// tells when packets came.
        waited_packets: u64,
        /// How much later than due packets left, by the link's own clock, µs; between TUN devices
        /// without the time that they waited to be read, which the kernel does not tell; a quantile
        /// with fewer than ten packets beyond it is null.
        late_us: Late,
    },
    /// A queueing discipline of the kernel carried, and told its own counters.
    Kernel(QdiscReading),
}

/// How late packets left.
#[derive(Serialize, JsonSchema)]
struct Late {
    #[serde(flatten)]
    quantiles: Quantiles,
    /// The latest, µs; null where nothing was carried.
    most: Option<f64>,
}

pub(super) fn render(report: &LinkReport) -> String {
    shape::lines(value(report))
}

fn value(report: &LinkReport) -> LinkShape {
    let (goes_first, [up, down]) = match &report.carried {
        Carried::Userspace(readings) => {
            let directions = [&readings.up, &readings.down];
            (
                Some(readings.went_first),
                directions.map(CarriedDirection::of),
            )
        }
        Carried::Kernel { readings, .. } => (
            None,
            readings
                .each_ref()
                .map(|reading| CarriedDirection::Kernel(reading.clone())),
        ),
    };
    LinkShape {
        linerate_version: shape::VERSION,
        plan: report.plan,
        exit_code: report.exit_code,
        elapsed_seconds: report.elapsed.as_secs_f64(),
        goes_first,
        up,
        down,
        doubts: worded(&report.doubts),
    }
}

impl CarriedDirection {
    fn of(reading: &LinkReading) -> Self {
        let lateness = &reading.lateness_ns;
        Self::Userspace {
            tally: reading.tally,
            missed_packets: reading.missed_packets,
            waited_packets: reading.waited_packets,
            late_us: Late {
                quantiles: lateness.into(),
                most: lateness.quantile(1.0).map(|ns| ns as f64 / 1e3),
            },
        }
    }
}
