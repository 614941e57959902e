//! Writes a route as a person would type it to ip(8).

use super::{DEVICE, GATEWAY, METRICS, Route, RouteKey, SOURCE, address};
use crate::links::{number, text};
use sys::netlink;

/// `RTNH_F_ONLINK`.
const ON_LINK: u32 = 4;
/// `RTAX_LOCK`: a bit for each metric that is locked.
const LOCK: u16 = 1;
/// Number of a metric `RTAX_…`, its name in ip(8), and the unit in which the kernel stores it.
const METRIC_NAMES: [(u16, &str, Unit); 16] = [
    (2, "mtu", Unit::One),
    (3, "window", Unit::One),
    (4, "rtt", Unit::Parts(8)),
    (5, "rttvar", Unit::Parts(4)),
    (6, "ssthresh", Unit::One),
    (7, "cwnd", Unit::One),
    (8, "advmss", Unit::One),
    (9, "reordering", Unit::One),
    (10, "hoplimit", Unit::One),
    (11, "initcwnd", Unit::One),
    (12, "features", Unit::Features),
    (13, "rto_min", Unit::Parts(1)),
    (14, "initrwnd", Unit::One),
    (15, "quickack", Unit::One),
    (16, "congctl", Unit::Text),
    (17, "fastopen_no_cookie", Unit::One),
];

/// `RTAX_FEATURE_…` as ip(8) names it. It has no word for the others, which the kernel accepts and
/// ignores, and shows their bits.
const FEATURE_NAMES: [(u32, &str); 2] = [(1, "ecn"), (1 << 4, "tcp_usec_ts")];

/// How the kernel stores a metric.
#[derive(Clone, Copy)]
enum Unit {
    One,
    /// Fractions of a millisecond: this many make up one.
    Parts(u32),
    /// A bit for each of [`FEATURE_NAMES`].
    Features,
    Text,
}

impl Route {
    /// What follows `ip route change`; `device` is the name of the route's device.
    pub(crate) fn words(&self, device: &str) -> String {
        let mut words = vec![self.key().to_string()];
        if let Some(gateway) = self.attribute(GATEWAY).and_then(address) {
            words.push(format!("via {gateway}"));
        }
        if self.attribute(DEVICE).is_some() {
            words.push(format!("dev {device}"));
        }
        let (protocol, scope) = (self.header[5], self.header[6]);
        let (protocol, scope) = (named_protocol(protocol), named_scope(scope));
        words.push(format!("proto {protocol} scope {scope}"));
        if let Some(source) = self.attribute(SOURCE).and_then(address) {
            words.push(format!("src {source}"));
        }
        if number(&self.header[8..]) & ON_LINK != 0 {
            words.push("onlink".to_owned());
        }
        words.extend(self.metric_words());
        words.join(" ")
    }

    fn metric_words(&self) -> Vec<String> {
        let metrics = self.attribute(METRICS).unwrap_or_default();
        let locked = self.metric(LOCK);
        let word = |(kind, bytes): (u16, &[u8])| {
            let (_, name, unit) = METRIC_NAMES.iter().find(|(known, ..)| *known == kind)?;
            let lock = if locked >> kind & 1 == 1 { "lock " } else { "" };
            Some(format!("{name} {lock}{}", unit.show(bytes)))
        };
        netlink::attributes(metrics).filter_map(word).collect()
    }
}

impl Unit {
    fn show(self, bytes: &[u8]) -> String {
        match self {
            Self::One => number(bytes).to_string(),
            Self::Parts(parts) => format!("{}ms", number(bytes) / parts),
            Self::Features => named_features(number(bytes)),
            Self::Text => text(bytes),
        }
    }
}

fn named_features(bits: u32) -> String {
    let set = FEATURE_NAMES.iter().filter(|(bit, _)| bits & bit != 0);
    let (known, mut words) = set.fold((0, Vec::new()), |(known, mut words), (bit, name)| {
        words.push((*name).to_owned());
        (known | bit, words)
    });
    if bits & !known != 0 {
        words.push(format!("{:#x}", bits & !known));
    }
    words.join(" ")
}

impl std::fmt::Display for RouteKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.bits {
            0 => write!(out, "default")?,
            bits => write!(out, "{}/{bits}", self.destination)?,
        }
        if self.tos != 0 {
            write!(out, " tos {:#x}", self.tos)?;
        }
        if self.priority != 0 {
            write!(out, " metric {}", self.priority)?;
        }
        Ok(())
    }
}

/// Name of `RTPROT_…` that ip(8) uses if it has no table of its own, or the number.
fn named_protocol(protocol: u8) -> String {
    match protocol {
        2 => "kernel".to_owned(),
        3 => "boot".to_owned(),
        4 => "static".to_owned(),
        16 => "dhcp".to_owned(),
        other => other.to_string(),
    }
}

/// Name of `RT_SCOPE_…` in ip(8), or the number.
fn named_scope(scope: u8) -> String {
    match scope {
        0 => "global".to_owned(),
        253 => "link".to_owned(),
        254 => "host".to_owned(),
        other => other.to_string(),
    }
}
