//! How long each packet takes to leave: at a steady rate, or at a fast one while there is credit.
//!
//! All arithmetic is in whole numbers, so that no rate drifts. Time is in ticks of 2⁻³² ns, and
//! credit in bits × 10⁹ × 2³²: a packet of that cost at a rate in bit/s takes cost ÷ rate ticks,
//! and a time in ticks × a rate in bit/s is the credit that it brings.

use model::LinkRate;

const TICK_BITS: u32 = 32;
const COST_OF_A_BIT: u128 = 1_000_000_000 << TICK_BITS;

/// The near end of a link, where one packet leaves after another.
#[derive(Debug)]
pub(super) struct Line {
    peak_bits_per_second: u128,
    credit: Option<Credit>,
    /// When the last accepted packet has left, ticks.
    free_at: u128,
}

#[derive(Debug)]
struct Credit {
    base_bits_per_second: u128,
    bucket: u128,
    balance: u128,
    /// The time for which `balance` holds, ticks.
    as_of: u128,
}

impl Line {
    /// # Panics
    /// When a rate is 0, which a [`model::link::LinkPlan`] does not let through.
    pub(super) fn new(rate: LinkRate) -> Self {
        let credit = match rate {
            LinkRate::Steady { .. } => None,
            LinkRate::Credit {
                bucket_bytes,
                base_bits_per_second,
                ..
            } => Some(Credit::full(bucket_bytes, base_bits_per_second)),
        };
        let peak_bits_per_second = u128::from(rate.peak_bits_per_second());
        assert!(peak_bits_per_second > 0, "a line has a rate");
        Self {
            peak_bits_per_second,
            credit,
            free_at: 0,
        }
    }

    /// When a packet that comes now would begin to leave, ns: after the packets before it, and when
    /// there is credit for it.
    pub(super) fn start_ns(&self, now_ns: u64, bytes: u32) -> u64 {
        let ready = self.ready(now_ns);
        let paid = self
            .credit
            .as_ref()
            .map(|credit| credit.paid_at(ready, cost(bytes)));
        nanoseconds(paid.unwrap_or(ready))
    }

    /// Accepts a packet after those before it. Returns when its last bit leaves, ns.
    pub(super) fn take(&mut self, now_ns: u64, bytes: u32) -> u64 {
        let (ready, cost) = (self.ready(now_ns), cost(bytes));
        let start = match &mut self.credit {
            Some(credit) => credit.spend(ready, cost),
            None => ready,
        };
        self.free_at = start + cost / self.peak_bits_per_second;
        nanoseconds(self.free_at)
    }

    /// When the line is free for a packet that comes now, ticks.
    fn ready(&self, now_ns: u64) -> u128 {
        self.free_at.max(u128::from(now_ns) << TICK_BITS)
    }
}

fn cost(bytes: u32) -> u128 {
    u128::from(bytes) * 8 * COST_OF_A_BIT
}

impl Credit {
    fn full(bucket_bytes: u64, base_bits_per_second: u64) -> Self {
        // Larger buckets are cut to about 9.9 EB: nobody lives to spend them.
        let bucket = (u128::from(bucket_bytes) * 8).saturating_mul(COST_OF_A_BIT);
        Self {
            base_bits_per_second: base_bits_per_second.into(),
            bucket,
            balance: bucket,
            as_of: 0,
        }
    }

    /// Pays for a packet at `ready`, or as soon afterwards as there is enough credit. Returns that
    /// time.
    fn spend(&mut self, ready: u128, cost: u128) -> u128 {
        let paid_at = self.paid_at(ready, cost);
        self.balance = self.balance_at(paid_at).saturating_sub(cost);
        self.as_of = paid_at;
        paid_at
    }

    /// When there is enough credit for a packet, at `ready` or later.
    fn paid_at(&self, ready: u128, cost: u128) -> u128 {
        let missing = cost.saturating_sub(self.balance_at(ready));
        ready + missing.div_ceil(self.base_bits_per_second)
    }

    fn balance_at(&self, time: u128) -> u128 {
        let earned = (time - self.as_of).saturating_mul(self.base_bits_per_second);
        self.balance.saturating_add(earned).min(self.bucket)
    }
}

/// Converts ticks to ns, rounded up so that nothing leaves early.
fn nanoseconds(ticks: u128) -> u64 {
    let up = (ticks + ((1 << TICK_BITS) - 1)) >> TICK_BITS;
    u64::try_from(up).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU_FRAME: u32 = 1514;

    fn steady(bits_per_second: u64) -> Line {
        Line::new(LinkRate::Steady { bits_per_second })
    }

    #[test]
    fn a_million_packets_back_to_back_take_what_their_bits_take_to_the_nanosecond() {
        for bits_per_second in [1, 7_000, 999_999_937, 1_000_000_000, 100_000_000_000] {
            let mut line = steady(bits_per_second);
            let mut end_ns = 0;
            for _ in 0..1_000_000 {
                end_ns = line.take(0, MTU_FRAME);
            }
            let bits = u128::from(MTU_FRAME) * 8 * 1_000_000;
            let exact_ns = bits * 1_000_000_000 / u128::from(bits_per_second);
            assert!(
                u128::from(end_ns).abs_diff(exact_ns) <= 1,
                "{bits_per_second}: {end_ns}"
            );
        }
    }

    #[test]
    fn a_line_that_was_idle_owes_nothing_for_that() {
        let mut line = steady(8_000_000_000);
        assert_eq!(line.take(0, 1000), 1000);
        assert_eq!(line.take(5_000, 1000), 6_000);
        assert_eq!(line.take(5_000, 1000), 7_000);
    }

    #[test]
    fn credit_lasts_as_long_as_the_model_says_and_then_the_base_rate_is_left() {
        // Burst 800 Mbit/s, base 80 Mbit/s, 9 MB: gone after 9 MB × 8 / (800 − 80) Mbit/s = 0.1 s.
        let mut line = Line::new(LinkRate::Credit {
            burst_bits_per_second: 800_000_000,
            bucket_bytes: 9_000_000,
            base_bits_per_second: 80_000_000,
        });
        let ends: Vec<u64> = (0..20_000).map(|_| line.take(0, 1000)).collect();
        let within = |limit_ns: u64| ends.iter().filter(|end| **end <= limit_ns).count();
        // Paid for before it leaves, the last packet comes a little later.
        assert!(within(100_000_000).abs_diff(10_000) <= 1);
        // 10,000 bytes a millisecond afterwards, give or take the packet at the edge.
        let in_the_next_second = within(1_100_000_000) - within(100_000_000);
        assert!(
            in_the_next_second.abs_diff(10_000) <= 1,
            "{in_the_next_second}"
        );
    }

    #[test]
    fn when_a_packet_would_start_is_when_it_does() {
        let mut line = Line::new(LinkRate::Credit {
            burst_bits_per_second: 8_000_000_000,
            bucket_bytes: 100_000,
            base_bits_per_second: 8_000_000,
        });
        for number in 0..200 {
            let start_ns = line.start_ns(number * 500, 1000);
            // At the burst rate a packet of 1000 bytes takes 1 µs, once it may start.
            assert_eq!(line.take(number * 500, 1000), start_ns + 1000, "{number}");
        }
        assert_eq!(
            line.start_ns(0, 1000),
            101_000_000,
            "a packet a millisecond"
        );
    }

    #[test]
    fn a_bucket_of_any_size_is_full_at_the_start() {
        let mut line = Line::new(LinkRate::Credit {
            burst_bits_per_second: 8_000_000_000,
            // The first that does not fit, and would be next to nothing.
            bucket_bytes: 9_903_520_314_283_042_200,
            base_bits_per_second: 1,
        });
        assert_eq!(line.take(0, 1000), 1000);
    }

    #[test]
    fn an_idle_line_earns_credit_and_no_more_than_the_bucket_holds() {
        let rate = LinkRate::Credit {
            burst_bits_per_second: 8_000_000_000,
            bucket_bytes: 100_000,
            base_bits_per_second: 8_000_000,
        };
        let at_burst = |line: &mut Line, now_ns: u64| {
            (1..=200_u64)
                .take_while(|sent| line.take(now_ns, 1000) == now_ns + sent * 1000)
                .count()
        };
        let mut line = Line::new(rate);
        assert_eq!(at_burst(&mut line, 0), 100);
        // 50 ms bring 50,000 bytes; the packet that found the bucket empty has cost one packet.
        assert_eq!(at_burst(&mut line, 51_000_000), 50);
        assert_eq!(at_burst(&mut line, 3_600_000_000_000), 100);
    }
}
