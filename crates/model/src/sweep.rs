//! A sweep over levels of load, such as `connections=1..512` or `rate=1000..50000`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::{as_text, named};

/// A sweep from one load to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Sweep {
    pub axis: Axis,
    from: f64,
    to: f64,
}

named! {
    /// The quantity that differs between levels.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Axis, "axis" {
        /// Open connections, in closed loop.
        Connections = "connections",
        /// Offered requests/s, in open loop.
        Rate = "rate",
    }
}

/// Bounds of the number of levels. Neighbouring levels differ by a factor of two where that gives a
/// number within these bounds; otherwise by a larger or smaller factor.
const FEWEST: f64 = 8.0;
const MOST: f64 = 16.0;

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |what: &str| {
            format!("{what}; a sweep looks like connections=1..512 or rate=1000..50000")
        };
        let (axis, range) = text
            .split_once('=')
            .ok_or_else(|| wrong("there is no `=`"))?;
        let axis = axis.trim();
        let axis: Axis = (axis.parse()).map_err(|_| wrong(&format!("`{axis}` cannot be swept")))?;
        let (from, to) = range
            .split_once("..")
            .ok_or_else(|| wrong("there is no `..`"))?;
        let number = |text: &str| {
            let number: Option<f64> = text.trim().parse().ok();
            let usable = number.filter(|number| number.is_finite() && *number > 0.0);
            usable.ok_or_else(|| wrong(&format!("`{text}` is no number above zero")))
        };
        let (from, to) = (number(from)?, number(to)?);
        let is_whole = |number: f64| number.fract() == 0.0;
        if axis == Axis::Connections && !(is_whole(from) && is_whole(to)) {
            return Err(wrong("connections are whole numbers"));
        }
        if from >= to {
            return Err(wrong("the second number must be above the first"));
        }
        Ok(Self { axis, from, to })
    }
}

impl Sweep {
    /// Returns the most connections that are open at once: `held` where connections are not swept.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number above zero; `as` saturates"
    )]
    pub fn most_connections(self, held: u32) -> u32 {
        match self.axis {
            Axis::Connections => self.to as u32,
            Axis::Rate => held,
        }
    }

    /// Returns the levels from the lowest to the highest, in equal ratios. Levels that round to the
    /// same number of connections are given once.
    pub fn loads(&self) -> Vec<f64> {
        let doublings = (self.to / self.from).log2().ceil();
        let steps = doublings.clamp(FEWEST - 1.0, MOST - 1.0);
        let ratio = (self.to / self.from).powf(1.0 / steps);
        let mut loads: Vec<f64> = Vec::new();
        let mut step = 0.0;
        while step <= steps {
            let load = self.from * ratio.powf(step);
            let load = if self.axis == Axis::Connections {
                load.round()
            } else {
                load
            };
            if loads.last().is_none_or(|last| *last < load) {
                loads.push(load);
            }
            step += 1.0;
        }
        loads
    }
}

/// Formats a sweep as it was typed.
impl fmt::Display for Sweep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}..{}", self.axis.name(), self.from, self.to)
    }
}

as_text!(Sweep);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_double_where_that_makes_enough_of_them() {
        let loads = |text: &str| text.parse::<Sweep>().unwrap().loads();
        let doubled = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
        assert_eq!(loads("connections=1..512"), doubled);
        assert_eq!(loads("connections=1..4"), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(loads("connections=1..60000").len(), 16);
        let rates = loads("rate=1000..8000");
        assert_eq!(rates.len(), 8);
        assert!((rates[7] - 8000.0).abs() < 1e-6);
    }

    #[test]
    fn what_is_no_sweep_is_refused_with_an_example() {
        for wrong in [
            "",
            "connections",
            "connections=5",
            "threads=1..5",
            "connections=0..5",
            "connections=1.5..5",
            "connections=9..5",
            "rate=-1..5",
            "rate=1..inf",
        ] {
            let error = wrong.parse::<Sweep>().unwrap_err();
            assert!(error.contains("connections=1..512"), "{wrong}: {error}");
        }
    }
}
