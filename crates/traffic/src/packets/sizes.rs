//! How large packets are: all the same, or a mix in which each size has its share.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Largest number of packets after which a mix repeats.
const LONGEST_ORDER: u32 = 1_000;

/// A size for each packet, which both ends know from its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PacketSizes {
    /// Each size in bytes, and how many packets of the order have it.
    parts: Vec<(usize, u32)>,
    /// The sizes of consecutive packets; each size is spread over the whole order.
    order: Vec<usize>,
}

impl PacketSizes {
    /// Makes all packets of one size.
    pub fn of(bytes: usize) -> Self {
        Self::mixed(vec![(bytes, 1)])
    }

    fn mixed(parts: Vec<(usize, u32)>) -> Self {
        let all = f64::from(parts.iter().map(|(_, weight)| weight).sum::<u32>());
        // Each packet of a part is placed in the middle of its share of the order.
        let places = parts.iter().flat_map(|(bytes, weight)| {
            let apart = all / f64::from(*weight);
            (0..*weight).map(move |at| ((f64::from(at) + 0.5) * apart, *bytes))
        });
        let mut places: Vec<(f64, usize)> = places.collect();
        places.sort_by(|one, other| one.0.total_cmp(&other.0));
        Self {
            order: places.into_iter().map(|(_, bytes)| bytes).collect(),
            parts,
        }
    }

    /// Returns the size of the packet with this number.
    #[inline]
    pub(super) fn of_number(&self, number: u64) -> usize {
        match self.order.as_slice() {
            [bytes] => *bytes,
            order => order[usize::try_from(number % order.len() as u64).unwrap_or_default()],
        }
    }

    /// Returns the smallest and the largest size.
    pub fn range(&self) -> [usize; 2] {
        let sizes = || self.parts.iter().map(|(bytes, _)| *bytes);
        [sizes().min(), sizes().max()].map(Option::unwrap_or_default)
    }

    pub fn mean(&self) -> f64 {
        self.order.iter().sum::<usize>() as f64 / self.order.len() as f64
    }

    pub(super) fn are_alike(&self) -> bool {
        let [smallest, largest] = self.range();
        smallest == largest
    }
}

impl FromStr for PacketSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = |part: &str| {
            let (bytes, weight) = part.split_once(':').unwrap_or((part, "1"));
            let weight = weight.trim().parse().ok().filter(|weight| *weight > 0);
            Some((bytes.trim().parse().ok()?, weight?))
        };
        let parts: Option<Vec<(usize, u32)>> = text.split(',').map(part).collect();
        let parts = parts.ok_or_else(|| {
            format!("`{text}` is no size: write bytes, or several with their shares as 64:7,576:4,1500:1")
        })?;
        let weights = parts
            .iter()
            .try_fold(0_u32, |all, (_, weight)| all.checked_add(*weight));
        match weights {
            Some(weights) if weights <= LONGEST_ORDER => Ok(Self::mixed(parts)),
            _ => Err(format!(
                "the shares of `{text}` add up to more than {LONGEST_ORDER}: write 7:4:1 for 700:400:100"
            )),
        }
    }
}

model::as_text!(PacketSizes);

impl fmt::Display for PacketSizes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(bytes, _)] = self.parts.as_slice() {
            return write!(formatter, "{bytes}");
        }
        let parts = self
            .parts
            .iter()
            .map(|(bytes, weight)| format!("{bytes}:{weight}"));
        write!(formatter, "{}", parts.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_has_its_shares_spread_over_the_order() {
        let sizes: PacketSizes = "64:7,576:4,1500:1".parse().unwrap();
        assert_eq!(sizes.to_string(), "64:7,576:4,1500:1");
        let of = |bytes| {
            (0..12)
                .filter(|number| sizes.of_number(*number) == bytes)
                .count()
        };
        assert_eq!([64, 576, 1500].map(of), [7, 4, 1]);
        assert_eq!(sizes.of_number(0), sizes.of_number(12));
        assert!((sizes.mean() - 4252.0 / 12.0).abs() < 1e-9);
        // Two of the four packets of 576 bytes are never in a row.
        let is_middle = |number| sizes.of_number(number) == 576;
        assert!((0..12).all(|number| !(is_middle(number) && is_middle(number + 1))));
    }

    #[test]
    fn what_is_no_mix_is_refused_with_one() {
        for wrong in [
            "",
            "64:",
            ":1",
            "64:0",
            "64,,65",
            "64:-1",
            "x",
            "64:1:1",
            "64:4294967296",
        ] {
            let why = wrong.parse::<PacketSizes>().unwrap_err();
            assert!(why.contains("64:7,576:4,1500:1"), "{wrong}: {why}");
        }
        for wrong in ["64:1001", "64:4294967295,65:1"] {
            let why = wrong.parse::<PacketSizes>().unwrap_err();
            assert!(why.contains("more than 1000"), "{wrong}: {why}");
        }
    }
}
