//! Properties of a link as people type them: `50ms`, `1Gbit/s`, `0.1%`, `9GB`.

use std::str::FromStr;
use std::time::Duration;

use super::plan::impossible;
use super::{ImpossibleLink, LinkRate, LinkShape, QueueLimit, Reorder};

/// One property of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    Delay(u64),
    Rate(LinkRate),
    Loss(f64),
    Reorder(Overtaking),
    Queue(QueueLimit),
}

/// Packets that overtake others, by the whole delay if `early_ns` is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overtaking {
    share: f64,
    early_ns: Option<u64>,
}

/// The settings of a link: those of both directions, and those of one direction alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    pub both: Vec<Setting>,
    /// From the client to the server.
    pub up: Vec<Setting>,
    pub down: Vec<Setting>,
}

impl Said {
    /// Returns the shapes of the two directions, up and down; a later setting replaces an earlier
    /// one.
    ///
    /// # Errors
    /// If there is a queue without a rate, since the queue would be ignored.
    pub fn shapes(&self) -> Result<[LinkShape; 2], ImpossibleLink> {
        let of = |alone: &[Setting]| shape(self.both.iter().chain(alone).copied());
        let (up, down) = (of(&self.up), of(&self.down));
        let has_rate = [up, down].map(|shape| shape.rate.is_some());
        let waits = asks_queue(&self.both).then_some(has_rate[0] || has_rate[1]);
        let waits_up = asks_queue(&self.up).then_some(has_rate[0]);
        let waits_down = asks_queue(&self.down).then_some(has_rate[1]);
        if [waits, waits_up, waits_down].contains(&Some(false)) {
            return impossible(
                "a queue holds what waits for a rate, and there is none: give a rate or credit too, or \
                 leave the queue out",
            );
        }
        Ok([up, down])
    }
}

fn asks_queue(settings: &[Setting]) -> bool {
    let mut settings = settings.iter();
    settings.any(|setting| matches!(setting, Setting::Queue(_)))
}

/// Applies settings to a shape; a later one replaces an earlier one.
fn shape(settings: impl IntoIterator<Item = Setting>) -> LinkShape {
    let mut shape = LinkShape::default();
    let mut overtaking = None;
    for setting in settings {
        match setting {
            Setting::Delay(delay_ns) => shape.delay_ns = delay_ns,
            Setting::Rate(rate) => shape.rate = Some(rate),
            Setting::Loss(lost) => shape.loss_share = lost,
            Setting::Reorder(found) => overtaking = Some(found),
            Setting::Queue(limit) => shape.queue = limit,
        }
    }
    shape.reorder = overtaking.map(|Overtaking { share, early_ns }| Reorder {
        share,
        early_ns: early_ns.unwrap_or(shape.delay_ns),
    });
    shape
}

/// Parses `KEY=VALUE`, for one direction.
impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text
            .split_once('=')
            .ok_or("expected KEY=VALUE, as rate=10Mbit/s")?;
        Self::of(key, value)
    }
}

impl Setting {
    /// Parses the value of a property by the property's name.
    ///
    /// # Errors
    /// If the key or the value is wrong; the error says which properties there are, or what such a
    /// value looks like.
    pub fn of(key: &str, value: &str) -> Result<Self, String> {
        match key {
            "delay" => parse_delay(value).map(Self::Delay),
            "rate" => parse_rate(value).map(|bits| Self::Rate(steady(bits))),
            "credit" => parse_credit(value).map(Self::Rate),
            "loss" => parse_share(value).map(Self::Loss),
            "reorder" => parse_reorder(value).map(Self::Reorder),
            "queue" => parse_queue(value).map(Self::Queue),
            _ => Err(format!(
                "`{key}` is none of delay, rate, credit, loss, reorder, queue"
            )),
        }
    }
}

/// Returns a constant rate.
pub fn steady(bits_per_second: u64) -> LinkRate {
    LinkRate::Steady { bits_per_second }
}

/// Parses a time, ns.
///
/// # Errors
/// If the text is wrong; the error names the expected format.
pub fn parse_delay(text: &str) -> Result<u64, String> {
    if text == "0" {
        return Ok(0);
    }
    let wrong = |_| format!("`{text}` is no time such as 50ms, 250us or 1s");
    let time: Duration = humantime::parse_duration(text).map_err(wrong)?;
    Ok(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Parses a rate, bit/s. The `/s` may be left out, as in tc(8).
///
/// # Errors
/// If the text is wrong; the error names the expected format.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no rate such as 1Gbit/s, 30Mbit/s or 500kbit/s");
    let unit_of = |unit: &str| match unit.strip_suffix("/s").unwrap_or(unit) {
        "bit" => Some(1),
        "kbit" | "Kbit" => Some(1_000),
        "Mbit" | "mbit" => Some(1_000_000),
        "Gbit" | "gbit" => Some(1_000_000_000),
        _ => None,
    };
    quantity(text, unit_of).ok_or_else(wrong)
}

/// Parses a size in decimal units, bytes.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size such as 9GB, 64kB or 1500B");
    let unit_of = |unit: &str| match unit {
        "B" => Some(1),
        "kB" | "KB" => Some(1_000),
        "MB" => Some(1_000_000),
        "GB" => Some(1_000_000_000),
        _ => None,
    };
    quantity(text, unit_of).ok_or_else(wrong)
}

/// Parses a number with its unit; the number may have a fraction.
#[expect(
    clippy::cast_possible_truncation,
    reason = "finite and not negative, and beyond 2^64 the largest is as good"
)]
fn quantity(text: &str, unit_of: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let end = text.find(|letter: char| letter.is_ascii_alphabetic())?;
    let number: f64 = text[..end].trim().parse().ok()?;
    let unit = unit_of(&text[end..])?;
    (number.is_finite() && number >= 0.0).then(|| (number * unit as f64).round() as u64)
}

/// Parses per cent into a share; the plan checks its range.
///
/// # Errors
/// If the text is wrong; the error names the expected format.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let number = text
        .strip_suffix('%')
        .and_then(|number| number.trim().parse().ok());
    let percent: f64 = number.ok_or_else(|| format!("`{text}` is no share such as 0.1%"))?;
    Ok(percent / 100.0)
}

/// Parses `SHARE`, or `SHARE,TIME`.
///
/// # Errors
/// If the text is wrong; the error names the expected format.
pub fn parse_reorder(text: &str) -> Result<Overtaking, String> {
    let (share, early) = match text.split_once(',') {
        Some((share, early)) => (share, Some(early)),
        None => (text, None),
    };
    Ok(Overtaking {
        share: parse_share(share)?,
        early_ns: early.map(parse_delay).transpose()?,
    })
}

/// Parses a queue limit: packets, bytes with their unit, or a time.
///
/// # Errors
/// If the text is wrong; the error names the expected format.
pub fn parse_queue(text: &str) -> Result<QueueLimit, String> {
    if let Ok(packets) = text.parse() {
        return Ok(QueueLimit::Packets(packets));
    }
    let bytes = parse_bytes(text).map(QueueLimit::Bytes);
    bytes
        .or_else(|_| parse_delay(text).map(QueueLimit::WaitNs))
        .map_err(|_| {
            format!("`{text}` is no queue: give packets (1000), a size (64kB) or a time (20ms)")
        })
}

/// Parses `burst=RATE,bucket=SIZE,base=RATE`, in any order.
///
/// # Errors
/// If the text is wrong; the error names the expected format.
pub fn parse_credit(text: &str) -> Result<LinkRate, String> {
    let wrong = || format!("`{text}` is no credit such as burst=5Gbit/s,bucket=9GB,base=30Mbit/s");
    let (mut burst, mut bucket, mut base) = (None, None, None);
    for part in text.split(',') {
        match part.split_once('=').ok_or_else(wrong)? {
            ("burst", value) => burst = Some(parse_rate(value)?),
            ("bucket", value) => bucket = Some(parse_bytes(value)?),
            ("base", value) => base = Some(parse_rate(value)?),
            _ => return Err(wrong()),
        }
    }
    Ok(LinkRate::Credit {
        burst_bits_per_second: burst.ok_or_else(wrong)?,
        bucket_bytes: bucket.ok_or_else(wrong)?,
        base_bits_per_second: base.ok_or_else(wrong)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_sizes_are_decimal_and_carry_their_unit() {
        for (text, bits) in [
            ("1Gbit/s", 1_000_000_000),
            ("2.5Gbit", 2_500_000_000),
            ("30Mbit/s", 30_000_000),
            ("500 kbit/s", 500_000),
            ("1bit/s", 1),
        ] {
            assert_eq!(parse_rate(text), Ok(bits), "{text}");
        }
        assert_eq!(parse_bytes("9GB"), Ok(9_000_000_000));
        for text in [
            "", "1", "Gbit/s", "-1Gbit/s", "1GB", "1Gb", "infbit/s", "1Gbit/m",
        ] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_queue_is_of_packets_bytes_or_time() {
        assert_eq!(parse_queue("50"), Ok(QueueLimit::Packets(50)));
        assert_eq!(parse_queue("64kB"), Ok(QueueLimit::Bytes(64_000)));
        assert_eq!(parse_queue("20ms"), Ok(QueueLimit::WaitNs(20_000_000)));
        assert!(parse_queue("many").is_err() && parse_queue("-1").is_err());
    }

    #[test]
    fn credit_names_its_three_parts_in_any_order() {
        let credit = LinkRate::Credit {
            burst_bits_per_second: 5_000_000_000,
            bucket_bytes: 9_000_000_000,
            base_bits_per_second: 30_000_000,
        };
        for text in [
            "burst=5Gbit/s,bucket=9GB,base=30Mbit/s",
            "base=30Mbit/s,burst=5Gbit/s,bucket=9GB",
        ] {
            assert_eq!(parse_credit(text), Ok(credit));
        }
        for text in [
            "burst=5Gbit/s",
            "5Gbit/s",
            "burst=5Gbit/s,bucket=9GB,base=1,x=1",
        ] {
            assert!(parse_credit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_overtakes_skips_the_whole_delay_unless_a_time_is_given() {
        let early = |texts: &[&str]| {
            let settings = texts.iter().map(|text| text.parse().unwrap());
            shape(settings).reorder.unwrap()
        };
        let whole = Reorder {
            share: 0.01,
            early_ns: 50_000_000,
        };
        assert_eq!(early(&["reorder=1%", "delay=50ms"]), whole);
        let some = Reorder {
            share: 0.01,
            early_ns: 2_000_000,
        };
        assert_eq!(early(&["delay=50ms", "reorder=1%,2ms"]), some);
    }

    #[test]
    fn a_queue_wants_a_rate_in_its_direction() {
        let said = |both: &[&str], up: &[&str], down: &[&str]| {
            let all = [both, up, down].map(|texts| {
                let settings = texts.iter().map(|text| text.parse().unwrap());
                settings.collect()
            });
            let [both, up, down] = all;
            Said { both, up, down }.shapes().is_ok()
        };
        assert!(said(&["queue=10", "rate=1Mbit/s"], &[], &[]));
        assert!(said(&["queue=10"], &[], &["rate=1Mbit/s"]));
        assert!(!said(&["queue=10"], &[], &[]));
        assert!(!said(&[], &["queue=10"], &["rate=1Mbit/s"]));
    }

    #[test]
    fn the_later_setting_wins_and_an_unknown_one_is_named() {
        let settings = ["delay=5ms", "loss=2%", "delay=7ms"].map(|text| text.parse().unwrap());
        let shape = shape(settings);
        assert_eq!((shape.delay_ns, shape.loss_share), (7_000_000, 0.02));
        let error = "jitter=5ms".parse::<Setting>().unwrap_err();
        assert!(error.contains("`jitter`"), "{error}");
    }
}
