//! How much traffic, which somebody pays for, a test may send: said before it begins.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;

use report::numbers;

/// Amazon's list prices of us-east-1, 2025, USD per 10⁹ bytes: between zones, where both ends pay;
/// and to the internet, for the first 10 TB a month.
const BETWEEN_ZONES: f64 = 0.02;
const TO_THE_INTERNET: f64 = 0.09;

/// Traffic that somebody pays for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Spending {
    Bytes(f64),
    /// As many bytes as are carried in this time.
    Time(Duration),
}

impl Spending {
    /// Returns the forecast in one sentence.
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

/// Whether traffic to this address stays on this machine: the address is one of its own, or we are
/// on a host of a rig, which nothing leaves.
pub(super) fn is_ours(server: IpAddr) -> bool {
    if server.to_canonical().is_loopback() || machine::rig::is_inside() {
        return true;
    }
    let any: IpAddr = match server {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Any port will do: connecting a UDP socket sends nothing.
    let socket = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((server, 9))?;
        socket.local_addr()
    });
    socket.is_ok_and(|from| from.ip() == server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_to_this_machine_itself_costs_nothing() {
        let ours =
            ["127.0.0.1", "127.0.0.2", "192.0.2.1"].map(|server| is_ours(server.parse().unwrap()));
        assert_eq!(ours, [true, true, false]);
    }
}
