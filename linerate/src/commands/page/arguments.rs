//! The flags of `linerate page`.

use std::time::Duration;

use agent::page::PageOrder;
use machine::rig::tcp;
use model::link::{ImpossibleLink, LinkPlan, LinkShape, Via, spelling};
use traffic::page::SMALLEST_BYTES;

/// A page that takes this much longer than a hundred round trips has failed.
const PATIENCE: Duration = Duration::from_secs(10);
/// For larger pages the buffers could be what limits a window.
const LARGEST_BYTES: usize = tcp::ROOM_BYTES as usize;
/// Initial window of Linux since 2.6.39 (`TCP_INIT_CWND`), after RFC 6928.
const USUAL_WINDOW: u32 = 10;

/// Measure how many round trips a page of a given size takes on a fresh connection
///
/// Pages of exactly the sizes asked for, HTTP head included, are fetched over an emulated link
/// with the round trip asked for, each over a connection of its own. The time from the request to
/// the last byte is reported in ms and in round trips, beside the round trips that slow start
/// predicts: the first window carries 10 segments, and each round trip doubles it.
///
/// A round trip is the time of the shortest handshake. Nothing is remembered from one connection to
/// the next, and the buffers have room for any page, so only the congestion window has an effect.
/// An initial window that is larger than what this kernel lets a client receive at first is
/// refused. BBR paces, and so its times lie between the steps of the others.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Sizes of pages, bytes, head included; the defaults are the last of each step and the next size
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = parse_size,
          default_value = "14480,14481,43440,43441,101360,101361")]
    size: Vec<usize>,
    /// Round-trip time of the link
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = spelling::parse_delay, allow_hyphen_values = true)]
    rtt: u64,
    /// Segments that the server sends before it hears from the client
    #[arg(long, value_name = "SEGMENTS", default_value_t = USUAL_WINDOW, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    initcwnd: u32,
    /// The server's congestion control, such as cubic, reno or bbr [default: this machine's]
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
    /// Fetches of each size
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    samples: u32,
    /// Print one JSON value (docs/schema/page.json)
    #[arg(long)]
    pub(super) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  Where the steps are:
    linerate page
  Does a page of 15 kB cost a satellite's user a round trip more than one of 14 kB?
    linerate page --rtt 612ms --size 14000,15000
  What would an initial window of 30 segments save?
    linerate page --initcwnd 30 --size 43440
  A connection that paces:
    linerate page --congestion bbr";

impl Arguments {
    /// The link, with half of the round trip in each direction.
    pub(super) fn link(&self) -> Result<LinkPlan, ImpossibleLink> {
        let one_way = |delay_ns| LinkShape {
            delay_ns,
            ..LinkShape::default()
        };
        let [up, down] = [self.rtt / 2, self.rtt - self.rtt / 2].map(one_way);
        LinkPlan::new([up, down], None, Via::Userspace)
    }

    pub(super) fn round_trip(&self) -> u64 {
        self.rtt
    }

    pub(super) fn order(&self) -> PageOrder {
        PageOrder {
            pages: self.size.clone(),
            samples: self.samples,
            initial_window: self.initcwnd,
            congestion_control: self.congestion.clone(),
            patience: PATIENCE + Duration::from_nanos(self.rtt) * 100,
        }
    }
}

fn parse_size(text: &str) -> Result<usize, String> {
    let size = text.parse().ok();
    size.filter(|bytes| (SMALLEST_BYTES..=LARGEST_BYTES).contains(bytes))
        .ok_or_else(|| {
            format!(
                "`{text}` is no size of a page: give bytes from {SMALLEST_BYTES}, which the head \
                 takes, to {LARGEST_BYTES}"
            )
        })
}
