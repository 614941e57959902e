//! What a test may spend of somebody's traffic, told before it does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;

use report::numbers;
use traffic::stream::{StreamPlan, StreamUntil, USUAL_PORT};

/// Amazon's list of us-east-1, 2025, USD per 10⁹ bytes: between zones, where both ends pay, and to the internet, of the
/// first 10 TB a month.
const BETWEEN_ZONES: f64 = 0.02;
const TO_THE_INTERNET: f64 = 0.09;

/// What of it somebody pays for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Spending {
    Bytes(f64),
    /// As many as come in so long.
    Time(Duration),
}

impl Spending {
    /// Of streams.
    pub(super) fn of_streams(plan: &StreamPlan) -> Self {
        let ways = plan.ways.len() as f64;
        match (plan.until, asked_bits(plan)) {
            (StreamUntil::Bytes(bytes), _) => Self::Bytes(bytes as f64 * ways),
            (StreamUntil::Time(time), Some(bits)) => {
                Self::Bytes(bits / 8.0 * time.as_secs_f64() * ways)
            }
            (StreamUntil::Time(time), None) => Self::Time(time.mul_f64(ways)),
        }
    }

    /// In a sentence.
    pub(super) fn forecast(self) -> String {
        let (gigabytes, each) = match self {
            Self::Bytes(bytes) => (bytes / 1e9, ""),
            Self::Time(time) => (time.as_secs_f64() / 8.0, " for each Gbit/s carried"),
        };
        let price = |of_one: f64| numbers::three_digits(gigabytes * of_one);
        format!(
            "sends up to {} GB{each}: at list prices of a cloud {} USD between zones, {} to the internet",
            numbers::three_digits(gigabytes),
            price(BETWEEN_ZONES),
            price(TO_THE_INTERNET),
        )
    }
}

/// Whether it is an address of this machine, from which it reaches itself.
pub(super) fn is_ours(server: IpAddr) -> bool {
    if server.to_canonical().is_loopback() {
        return true;
    }
    let any: IpAddr = match server {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Nothing is sent by that.
    let socket = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((server, USUAL_PORT))?;
        socket.local_addr()
    });
    socket.is_ok_and(|from| from.ip() == server)
}

/// Of all streams of a way; `None` for what is possible.
fn asked_bits(plan: &StreamPlan) -> Option<f64> {
    let asked = [plan.rate_bits, plan.pace_bits].into_iter();
    let least = asked.filter(|bits| *bits > 0).min()?;
    Some(least as f64 * f64::from(plan.streams))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::stream::Arguments;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn a_test_to_another_host_is_told_in_gigabytes_and_what_these_are_listed_at() {
        let told = |words: &str| {
            let words = ["stream", "192.0.2.1"].into_iter().chain(words.split(' '));
            Spending::of_streams(&Line::parse_from(words).arguments.plan().unwrap()).forecast()
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
        let ours =
            ["127.0.0.1", "127.0.0.2", "192.0.2.1"].map(|server| is_ours(server.parse().unwrap()));
        assert_eq!(ours, [true, true, false]);
    }
}
