//! How much traffic, which somebody pays for, a test of streams may send.

use traffic::stream::{StreamPlan, StreamUntil};

use crate::commands::traffic_price::Spending;

/// Returns the traffic by the bytes or the rate that a plan asks for, or else by its time.
pub(super) fn spending(plan: &StreamPlan) -> Spending {
    let ways = plan.ways.len() as f64;
    match (plan.until, plan.asked_bits()) {
        (StreamUntil::Bytes(bytes), _) => Spending::Bytes(bytes as f64 * ways),
        (StreamUntil::Time(time), Some(bits)) => {
            let streams = f64::from(plan.streams) * ways;
            Spending::Bytes(bits as f64 / 8.0 * time.as_secs_f64() * streams)
        }
        (StreamUntil::Time(time), None) => Spending::Time(time.mul_f64(ways)),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::commands::stream::Arguments;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn a_test_to_another_host_is_told_in_gigabytes_and_what_these_are_listed_at() {
        let told = |words: &str| {
            let words = ["stream", "192.0.2.1"].into_iter().chain(words.split(' '));
            spending(&Line::parse_from(words).arguments.plan().unwrap()).forecast()
        };
        for (words, expected) in [
            (
                "--for 1h --rate 10G",
                "up to 4,500 GB: at list prices of a cloud 90.0 USD between zones, 405 to",
            ),
            ("--for 60s -P 2 --pace 1G --both", "up to 30.0 GB:"),
            ("-n 1024M", "up to 1.07 GB:"),
            ("--for 1h", "up to 450 GB for each Gbit/s carried: "),
        ] {
            let told = told(words);
            assert!(told.contains(expected), "{words}: {told}");
        }
    }
}
