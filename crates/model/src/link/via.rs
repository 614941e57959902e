//! What can carry a link: a program of ours, or a queueing discipline of the kernel, and which
//! links each of these can express.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::impossible;
use super::{ImpossibleLink, LinkPlan, LinkRate, LinkShape, QueueLimit};
use crate::named::named;

named! {
    /// What carries a link.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Via, "carrier of links" {
        /// A program of ours, which needs only packet sockets of the kernel.
        // In older runs it may have used TUN devices instead.
        #[default]
        #[serde(alias = "tun")]
        Userspace = "userspace",
        /// The kernel's token bucket filter: a rate, or credit.
        Tbf = "tbf",
        /// The kernel's network emulator: delay, rate, loss and reordering.
        Netem = "netem",
    }
}

/// Lowest rate for the kernel, bit/s: its rates are whole bytes per second, which are too coarse
/// below this.
const LEAST_RATE: u64 = 1_000;

/// The kernel reports a bucket as the time in which it fills, in 32 bits of 64 ns (`PSCHED_SHIFT`
/// in net/pkt_sched.h). A bucket that takes longer than this cannot be read back, ns.
const LONGEST_FILL_NS: u64 = (1 << 32) * 64;

const USERSPACE_HAS: &str = "`userspace` has it";
const NETEM_HAS_TOO: &str = "`userspace` has it, and so has `netem` where the kernel has it";
const TBF_HAS_TOO: &str = "`userspace` has it, and so has `tbf`";

impl Via {
    /// Whether a program of ours carries the link; it supports every property and reports on
    /// itself.
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::Userspace)
    }

    /// Checks whether this carrier can do exactly what is asked.
    pub(super) fn check(self, plan: &LinkPlan) -> Result<(), ImpossibleLink> {
        if self.is_ours() {
            return Ok(());
        }
        if plan.seed.is_some() {
            return self.lacks(
                "seed, as the kernel draws its random numbers",
                USERSPACE_HAS,
            );
        }
        let shapes = [&plan.up, &plan.down];
        if shapes.iter().all(|shape| asks_nothing(shape)) {
            let what = match self {
                Self::Netem => "a delay, a rate, a loss or reordering",
                _ => "a rate or credit",
            };
            return impossible(format!("there is nothing for {self} to do: ask for {what}"));
        }
        shapes.into_iter().try_for_each(|shape| self.carries(shape))
    }

    fn carries(self, shape: &LinkShape) -> Result<(), ImpossibleLink> {
        shape.rate.map_or(Ok(()), |rate| self.check_rate(rate))?;
        match self {
            Self::Userspace => Ok(()),
            Self::Tbf => self.check_tbf(shape),
            Self::Netem => check_netem(shape),
        }
    }

    fn check_rate(self, rate: LinkRate) -> Result<(), ImpossibleLink> {
        let (slowest, bucket_bytes) = match rate {
            LinkRate::Steady { bits_per_second } => (bits_per_second, None),
            LinkRate::Credit {
                bucket_bytes,
                base_bits_per_second,
                ..
            } => (base_bits_per_second, Some(bucket_bytes)),
        };
        if slowest < LEAST_RATE {
            return impossible(format!(
                "{self} counts whole bytes a second: a rate of {slowest} bit/s is below \
                 {LEAST_RATE}, the lowest that comes out right; `userspace` carries it"
            ));
        }
        bucket_bytes.map_or(Ok(()), |bytes| self.check_bucket(bytes, slowest))
    }

    fn check_bucket(self, bytes: u64, base_bits_per_second: u64) -> Result<(), ImpossibleLink> {
        if self == Self::Netem {
            return self.lacks("credit", TBF_HAS_TOO);
        }
        let fill_ns = u128::from(bytes) * 8_000_000_000 / u128::from(base_bits_per_second);
        if fill_ns > u128::from(LONGEST_FILL_NS) {
            return impossible(format!(
                "a bucket of {bytes} bytes fills in {} s at the base rate, and {self} reports none \
                 that takes longer than {} s; `userspace` carries it",
                fill_ns / 1_000_000_000,
                LONGEST_FILL_NS / 1_000_000_000
            ));
        }
        let most = u32::MAX;
        if bytes > u64::from(most) {
            return impossible(format!(
                "the bucket of {self} holds at most {most} bytes, not {bytes}; `userspace` carries it"
            ));
        }
        Ok(())
    }

    fn check_tbf(self, shape: &LinkShape) -> Result<(), ImpossibleLink> {
        // The queue is in bytes, which correspond to a time at one rate only; with credit there are
        // two.
        let has_credit = matches!(shape.rate, Some(LinkRate::Credit { .. }));
        let waits_at_two_rates = has_credit && matches!(shape.queue, QueueLimit::WaitNs(_));
        let in_time = "queue in time below a credit";
        let asked = [
            (shape.delay_ns > 0, "delay", NETEM_HAS_TOO),
            (shape.loss_share > 0.0, "loss", NETEM_HAS_TOO),
            (shape.reorder.is_some(), "reordering", NETEM_HAS_TOO),
            (waits_at_two_rates, in_time, USERSPACE_HAS),
        ];
        let mut asked = asked.into_iter();
        match asked.find(|(is_asked, ..)| *is_asked) {
            Some((_, what, instead)) => self.lacks(what, instead),
            None => Ok(()),
        }
    }

    fn lacks(self, what: &str, instead: &str) -> Result<(), ImpossibleLink> {
        impossible(format!("{self} has no {what}; {instead}"))
    }
}

fn asks_nothing(shape: &LinkShape) -> bool {
    let LinkShape {
        delay_ns,
        rate,
        loss_share,
        reorder,
        queue: _,
    } = shape;
    *delay_ns == 0 && rate.is_none() && *loss_share == 0.0 && reorder.is_none()
}

/// Checks what netem can do. Its reordered packets skip the whole delay, and also the wait for the
/// rate; packets that it loses take no time on the line (`netem_enqueue` in net/sched/sch_netem.c);
/// its only limit is in packets.
fn check_netem(shape: &LinkShape) -> Result<(), ImpossibleLink> {
    let lacks = |what| Via::Netem.lacks(what, USERSPACE_HAS);
    match (shape.reorder, shape.rate, shape.queue) {
        (Some(reorder), _, _) if reorder.early_ns != shape.delay_ns => {
            lacks("reordering by a part of the delay")
        }
        (Some(_), Some(_), _) => lacks("reordering that leaves the rate alone"),
        (_, Some(_), _) if shape.loss_share > 0.0 => lacks("loss after the rate"),
        (_, Some(_), QueueLimit::Bytes(_)) => lacks("queue in bytes"),
        (_, Some(_), QueueLimit::WaitNs(_)) => lacks("queue in time"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Reorder;

    const MS: u64 = 1_000_000;

    fn outcome(via: Via, shape: LinkShape) -> Result<LinkPlan, String> {
        let plan = LinkPlan::new([LinkShape::default(), shape], None, via);
        plan.map_err(|error| error.to_string())
    }

    fn steady(bits_per_second: u64) -> LinkShape {
        LinkShape {
            rate: Some(LinkRate::Steady { bits_per_second }),
            ..LinkShape::default()
        }
    }

    fn credit(bucket_bytes: u64, base_bits_per_second: u64) -> LinkShape {
        LinkShape {
            rate: Some(LinkRate::Credit {
                burst_bits_per_second: 5_000_000_000,
                bucket_bytes,
                base_bits_per_second,
            }),
            ..LinkShape::default()
        }
    }

    fn delayed() -> LinkShape {
        LinkShape {
            delay_ns: 20 * MS,
            ..LinkShape::default()
        }
    }

    fn reordered(early_ns: u64) -> LinkShape {
        LinkShape {
            reorder: Some(Reorder {
                share: 0.01,
                early_ns,
            }),
            ..delayed()
        }
    }

    #[test]
    fn what_a_bucket_or_netem_lacks_is_named_with_what_has_it() {
        let lossy = LinkShape {
            loss_share: 0.01,
            ..LinkShape::default()
        };
        let queued = |queue| LinkShape {
            queue,
            ..steady(1_000_000)
        };
        let both = LinkShape {
            rate: steady(1_000_000).rate,
            ..reordered(20 * MS)
        };
        let lossy_at_a_rate = LinkShape {
            rate: steady(1_000_000).rate,
            ..lossy
        };
        let credit_in_time = LinkShape {
            queue: QueueLimit::WaitNs(MS),
            ..credit(1 << 20, 1_000_000)
        };
        for (via, shape, lack) in [
            (Via::Tbf, delayed(), "tbf has no delay"),
            (Via::Tbf, lossy, "tbf has no loss"),
            (Via::Tbf, credit_in_time, "in time below a credit"),
            (
                Via::Netem,
                credit(1 << 20, 1_000_000),
                "netem has no credit",
            ),
            (Via::Netem, reordered(5 * MS), "by a part of the delay"),
            (Via::Netem, both, "leaves the rate alone"),
            (Via::Netem, lossy_at_a_rate, "loss after the rate"),
            (Via::Netem, queued(QueueLimit::Bytes(9_000)), "in bytes"),
            (Via::Netem, queued(QueueLimit::WaitNs(MS)), "in time"),
        ] {
            let error = outcome(via, shape).unwrap_err();
            assert!(error.contains(lack), "{error}");
            assert!(error.contains("`userspace` has it"), "{error}");
            assert!(outcome(Via::Userspace, shape).is_ok(), "{shape:?}");
        }
    }

    #[test]
    fn what_each_has_is_carried() {
        for (via, shape) in [
            (Via::Tbf, steady(20_000_000)),
            (Via::Tbf, credit(4_000_000_000, 500_000_000)),
            (Via::Netem, delayed()),
            (Via::Netem, reordered(20 * MS)),
            (Via::Netem, steady(20_000_000)),
        ] {
            assert_eq!(outcome(via, shape).map(|plan| plan.via), Ok(via));
        }
    }

    #[test]
    fn a_bucket_that_the_kernel_would_not_keep_is_refused_with_its_limit() {
        for (via, shape, limit) in [
            (Via::Tbf, credit(4_300_000_000, 500_000_000), "4294967295"),
            (
                Via::Tbf,
                credit(2_000_000_000, 30_000_000),
                "longer than 274 s",
            ),
            (Via::Tbf, steady(999), "whole bytes a second"),
        ] {
            let error = outcome(via, shape).unwrap_err();
            assert!(error.contains(limit), "{error}");
        }
    }

    #[test]
    fn a_kernel_that_is_asked_nothing_or_told_a_seed_says_so() {
        let error = outcome(Via::Tbf, LinkShape::default()).unwrap_err();
        assert!(error.contains("ask for a rate or credit"), "{error}");
        let plan = LinkPlan::new([delayed(); 2], Some(7), Via::Netem);
        let error = plan.unwrap_err().to_string();
        assert!(error.contains("netem has no seed"), "{error}");
    }

    #[test]
    fn each_is_read_by_the_name_it_is_written_with() {
        for via in Via::ALL {
            assert_eq!(via.name().parse(), Ok(via));
            assert_eq!(serde_json::to_value(via).unwrap(), via.name());
        }
        // An older run may name a carrier that no longer exists.
        assert_eq!(
            serde_json::from_value("tun".into()).ok(),
            Some(Via::Userspace)
        );
        let error = "tc".parse::<Via>().unwrap_err();
        assert!(error.contains("`tc`") && error.contains("netem"), "{error}");
    }
}
