//! What a link is asked to do, and whether that is possible.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::via::Via;
use super::{LinkRate, LinkShape, QueueLimit, Reorder};

/// Most memory that the packets of one direction may take, bytes. The packets of a link of
/// 10 Gbit/s and 200 ms fit; a machine with this much to spare for each direction runs it easily.
pub const MOST_HELD_BYTES: u64 = 288 << 20;

/// Most memory that holding a packet takes in addition to its bytes: its entries in the queues,
/// which grow to twice what they hold, and what the allocator rounds up.
pub const BESIDE_EACH_PACKET_BYTES: u64 = 136;

/// Longer than any path on earth; a longer delay is more likely a typing error than a wish.
const LONGEST_DELAY_NS: u64 = 600_000_000_000;

/// The largest packet that can come, bytes: IP's largest, in an Ethernet frame. A bucket must hold
/// one, or there would never be enough credit for it.
const LARGEST_FRAME_BYTES: u64 = 65_535 + 14;

/// Length of a usual Ethernet frame, by which queues in packets are converted to bytes.
pub const USUAL_FRAME_BYTES: u64 = 1514;

/// Both directions of a link: `up` is from the client to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkPlan {
    /// From the client to the server.
    pub up: LinkShape,
    /// From the server to the client.
    pub down: LinkShape,
    /// Seed of losses and reordering; the same seed draws the same ones. Only a link in user space
    /// has one; see [`LinkPlan::drawing`].
    pub seed: Option<u64>,
    /// What carried the link: a program of ours by packet sockets, or a queueing
    /// discipline of the kernel.
    pub via: Via,
}

/// Why a link is impossible, for the user who asked for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ImpossibleLink(pub(super) String);

pub(super) fn impossible<T>(why: impl Into<String>) -> Result<T, ImpossibleLink> {
    Err(ImpossibleLink(why.into()))
}

impl LinkPlan {
    /// Creates a plan with these shapes of the two directions.
    ///
    /// # Errors
    /// If such a link is impossible; the error says why.
    pub fn new(
        [up, down]: [LinkShape; 2],
        seed: Option<u64>,
        via: Via,
    ) -> Result<Self, ImpossibleLink> {
        let plan = Self {
            up,
            down,
            seed,
            via,
        };
        plan.check()?;
        Ok(plan)
    }

    /// Sets the seed, if the link takes one and none was given.
    #[must_use]
    pub fn drawing(self, seed: u64) -> Self {
        let drawn = self.via.is_ours().then_some(seed);
        Self {
            seed: self.seed.or(drawn),
            ..self
        }
    }

    /// Checks whether such a link is possible.
    fn check(&self) -> Result<(), ImpossibleLink> {
        check(&self.up)?;
        check(&self.down)?;
        self.via.check(self)
    }
}

fn check(shape: &LinkShape) -> Result<(), ImpossibleLink> {
    check_share("loss", shape.loss_share)?;
    check_delay(shape.delay_ns)?;
    shape
        .reorder
        .map_or(Ok(()), |reorder| check_reorder(reorder, shape.delay_ns))?;
    let Some(rate) = shape.rate else {
        return Ok(());
    };
    check_rate(rate)?;
    let needed_bytes = needed_bytes(shape, rate);
    if needed_bytes > u128::from(MOST_HELD_BYTES) {
        return impossible(format!(
            "the packets in flight would take {} MiB for each direction: rate × delay, and what may \
             wait; a link holds at most {} MiB. Lower one of them",
            needed_bytes >> 20,
            MOST_HELD_BYTES >> 20
        ));
    }
    Ok(())
}

fn check_share(what: &str, share: f64) -> Result<(), ImpossibleLink> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    let percent = share * 100.0;
    impossible(format!(
        "{what} is a share of the packets, from 0% to 100%, not {percent}%"
    ))
}

fn check_delay(delay_ns: u64) -> Result<(), ImpossibleLink> {
    if delay_ns <= LONGEST_DELAY_NS {
        return Ok(());
    }
    let [seconds, most] = [delay_ns, LONGEST_DELAY_NS].map(|ns| ns as f64 / 1e9);
    impossible(format!(
        "a delay of {seconds} s is more than the {most} s that a link may have"
    ))
}

fn check_reorder(reorder: Reorder, delay_ns: u64) -> Result<(), ImpossibleLink> {
    check_share("reordering", reorder.share)?;
    if reorder.early_ns > 0 && reorder.early_ns <= delay_ns {
        return Ok(());
    }
    let [early, delay] = [reorder.early_ns, delay_ns].map(|ns| ns as f64 / 1e6);
    impossible(format!(
        "reordered packets are to skip {early} ms of a delay of {delay} ms: packets overtake one another \
         only where there is a delay to skip"
    ))
}

fn check_rate(rate: LinkRate) -> Result<(), ImpossibleLink> {
    const NO_RATE: &str =
        "a rate of 0 lets nothing through; for a link that loses all, ask for a loss of 100%";
    let LinkRate::Credit {
        burst_bits_per_second: burst,
        bucket_bytes,
        base_bits_per_second: base,
    } = rate
    else {
        return match rate.peak_bits_per_second() {
            0 => impossible(NO_RATE),
            _ => Ok(()),
        };
    };
    if base == 0 {
        return impossible(NO_RATE);
    }
    if burst <= base {
        return impossible(format!(
            "credit is for a burst above the base rate: {burst} bit/s is not more than {base} bit/s"
        ));
    }
    if bucket_bytes < LARGEST_FRAME_BYTES {
        return impossible(format!(
            "a bucket of {bucket_bytes} bytes does not hold the largest packet, which has \
             {LARGEST_FRAME_BYTES}"
        ));
    }
    Ok(())
}

/// Memory for the packets that are under way when usual frames use the full rate, and for those
/// that wait for it, bytes.
fn needed_bytes(shape: &LinkShape, rate: LinkRate) -> u128 {
    const NS_PER_SECOND: u128 = 1_000_000_000;
    let during =
        |ns: u64| u128::from(rate.peak_bits_per_second()) * u128::from(ns) / (8 * NS_PER_SECOND);
    let waiting = match shape.queue {
        QueueLimit::Packets(packets) => u128::from(packets) * u128::from(USUAL_FRAME_BYTES),
        QueueLimit::Bytes(bytes) => bytes.into(),
        QueueLimit::WaitNs(ns) => during(ns),
    };
    let bytes = during(shape.delay_ns) + waiting;
    let packets = bytes / u128::from(USUAL_FRAME_BYTES);
    bytes + packets * u128::from(BESIDE_EACH_PACKET_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(shape: LinkShape) -> Result<LinkPlan, ImpossibleLink> {
        LinkPlan::new([LinkShape::default(), shape], None, Via::Userspace)
    }

    fn error(shape: LinkShape) -> String {
        plan(shape).unwrap_err().to_string()
    }

    fn steady(bits_per_second: u64) -> Option<LinkRate> {
        Some(LinkRate::Steady { bits_per_second })
    }

    fn with_rate(rate: Option<LinkRate>) -> LinkShape {
        LinkShape {
            rate,
            ..LinkShape::default()
        }
    }

    fn with_loss(loss_share: f64) -> LinkShape {
        LinkShape {
            loss_share,
            ..LinkShape::default()
        }
    }

    fn skipping(early_ns: u64, delay_ns: u64) -> LinkShape {
        let share = 0.1;
        LinkShape {
            reorder: Some(Reorder { share, early_ns }),
            delay_ns,
            ..LinkShape::default()
        }
    }

    #[test]
    fn a_rate_that_cannot_be_is_refused_with_the_reason() {
        let credit = |bucket_bytes, base_bits_per_second| LinkRate::Credit {
            burst_bits_per_second: 9,
            bucket_bytes,
            base_bits_per_second,
        };
        for (rate, reason) in [
            (steady(0), "lets nothing through"),
            (Some(credit(1 << 20, 0)), "lets nothing through"),
            (Some(credit(1 << 20, 9)), "not more than 9"),
            (Some(credit(1500, 1)), "does not hold the largest"),
        ] {
            let error = error(with_rate(rate));
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_loss_a_delay_and_a_reordering_that_cannot_be_are_refused_with_the_reason() {
        let endless = LinkShape {
            delay_ns: u64::MAX,
            ..LinkShape::default()
        };
        for (shape, reason) in [
            (with_loss(1.5), "not 150%"),
            (with_loss(-0.1), "not -10%"),
            (with_loss(f64::NAN), "not NaN%"),
            (endless, "more than the 600 s"),
            (skipping(1_000_000, 0), "skip 1 ms of a delay of 0 ms"),
            (skipping(0, 5), "skip 0 ms"),
        ] {
            let error = error(shape);
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn what_needs_more_memory_than_a_link_may_hold_is_refused_with_the_figure() {
        let ten_gigabit = LinkShape {
            rate: steady(10_000_000_000),
            delay_ns: 200_000_000,
            ..LinkShape::default()
        };
        assert!(plan(ten_gigabit).is_ok());
        let longer = LinkShape {
            delay_ns: 2_000_000_000,
            ..ten_gigabit
        };
        assert!(
            error(longer).contains("would take 2599 MiB"),
            "{}",
            error(longer)
        );
        let queue = QueueLimit::Bytes(u64::MAX);
        assert!(
            error(LinkShape {
                queue,
                ..ten_gigabit
            })
            .contains("MiB")
        );
    }
}
