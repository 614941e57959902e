//! Describes a link in words.

use model::link::{LinkPlan, LinkRate, LinkShape, LinkSpec, QueueLimit, Via};

use crate::numbers;

/// Describes what a link does to traffic and what carries it, as part of a sentence.
pub fn words(plan: &LinkPlan) -> String {
    let (up, down) = (&plan.up, &plan.down);
    let what = if up == down {
        format!("{} each way", direction(up))
    } else {
        format!("up {}; down {}", direction(up), direction(down))
    };
    match plan.via {
        Via::Userspace => what,
        via => format!("{what}, by the kernel's {via}"),
    }
}

/// Describes the link of a study as it was asked for.
pub(crate) fn of_study(link: &LinkSpec) -> String {
    let plan = link.plan();
    plan.map_or_else(|bad| bad.to_string(), |plan| words(&plan))
}

fn direction(shape: &LinkShape) -> String {
    let mut words = vec![match shape.delay_ns {
        0 => "no delay".to_owned(),
        ns => format!("{} of delay", numbers::duration(ns)),
    }];
    words.extend(shape.rate.map(|rate| rate_words(rate, shape.queue)));
    if shape.loss_share > 0.0 {
        words.push(format!("{} lost", percent(shape.loss_share)));
    }
    words.extend(shape.reorder.map(|reorder| {
        let early = numbers::duration(reorder.early_ns);
        format!("{} early by {early}", percent(reorder.share))
    }));
    words.join(", ")
}

/// Shows a share as it was typed. Twelve decimal places are more than anybody types, and few enough
/// to hide the rounding error of a share.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1e14).round() / 1e12)
}

fn rate_words(rate: LinkRate, queue: QueueLimit) -> String {
    let queue = match queue {
        QueueLimit::Packets(packets) => format!("{packets} packets"),
        QueueLimit::Bytes(bytes) => in_decimal(bytes, "B"),
        QueueLimit::WaitNs(ns) => numbers::duration(ns),
    };
    let rate = match rate {
        LinkRate::Steady { bits_per_second } => in_decimal(bits_per_second, "bit/s"),
        LinkRate::Credit {
            burst_bits_per_second,
            bucket_bytes,
            base_bits_per_second,
        } => format!(
            "{} until {} of credit are spent, then {}",
            in_decimal(burst_bits_per_second, "bit/s"),
            in_decimal(bucket_bytes, "B"),
            in_decimal(base_bits_per_second, "bit/s")
        ),
    };
    format!("{rate} with a queue of {queue}")
}

/// Shows a count in the multiple of its unit that suits it, as it may be typed.
fn in_decimal(count: u64, unit: &str) -> String {
    let number = count as f64;
    match count {
        1_000_000_000.. => format!("{} G{unit}", number / 1e9),
        1_000_000.. => format!("{} M{unit}", number / 1e6),
        1_000.. => format!("{} k{unit}", number / 1e3),
        _ => format!("{count} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use model::link::spelling;

    use super::*;

    #[test]
    fn a_queue_and_a_bucket_are_told_as_they_were_typed() {
        let rate = |bits: &str| spelling::steady(spelling::parse_rate(bits).unwrap());
        for queue in ["400 B", "1.6 kB", "1.5 MB", "2 GB"] {
            let said = rate_words(rate("1bit/s"), spelling::parse_queue(queue).unwrap());
            assert_eq!(said, format!("1 bit/s with a queue of {queue}"));
        }
        let credit = "burst=1Gbit/s,bucket=2500B,base=30Mbit/s";
        let credit = spelling::parse_credit(credit).unwrap();
        let said = rate_words(credit, QueueLimit::Packets(10));
        assert!(said.contains("1 Gbit/s until 2.5 kB of credit"), "{said}");
    }

    #[test]
    fn a_share_is_told_as_it_was_typed() {
        for text in ["0.41", "7", "0.0001", "29.7", "100"] {
            let share = spelling::parse_share(&format!("{text}%")).unwrap();
            assert_eq!(percent(share), format!("{text} %"));
        }
    }
}
