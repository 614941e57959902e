//! A link in words.

use model::link::{LinkPlan, LinkRate, LinkShape, LinkSpec, QueueLimit, Via};

use crate::numbers;

/// What a link does to what passes, and what carries it, as part of a sentence.
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

/// The link of a study, as it was asked for.
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

/// As it was typed: twelve places are more than anybody types and fewer than a share has wrong.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1e14).round() / 1e12)
}

fn rate_words(rate: LinkRate, queue: QueueLimit) -> String {
    let queue = match queue {
        QueueLimit::Packets(packets) => format!("{packets} packets"),
        QueueLimit::Bytes(bytes) => numbers::bytes(bytes),
        QueueLimit::WaitNs(ns) => numbers::duration(ns),
    };
    let rate = match rate {
        LinkRate::Steady { bits_per_second } => bits(bits_per_second),
        LinkRate::Credit {
            burst_bits_per_second,
            bucket_bytes,
            base_bits_per_second,
        } => format!(
            "{} until {} of credit are spent, then {}",
            bits(burst_bits_per_second),
            numbers::bytes(bucket_bytes),
            bits(base_bits_per_second)
        ),
    };
    format!("{rate} with a queue of {queue}")
}

/// In the unit that suits it, as it may be typed.
fn bits(bits_per_second: u64) -> String {
    let rate = bits_per_second as f64;
    match bits_per_second {
        1_000_000_000.. => format!("{} Gbit/s", rate / 1e9),
        1_000_000.. => format!("{} Mbit/s", rate / 1e6),
        1_000.. => format!("{} kbit/s", rate / 1e3),
        _ => format!("{bits_per_second} bit/s"),
    }
}

#[cfg(test)]
mod tests {
    use model::link::spelling;

    use super::*;

    #[test]
    fn a_share_is_told_as_it_was_typed() {
        for text in ["0.41", "7", "0.0001", "29.7", "100"] {
            let share = spelling::parse_share(&format!("{text}%")).unwrap();
            assert_eq!(percent(share), format!("{text} %"));
        }
    }
}
