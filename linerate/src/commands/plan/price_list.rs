//! The list of machines, with what they carry and cost.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

/// The list that comes with the program.
const OURS: &str = include_str!("../../../data/network-prices.toml");
/// Largest size of a list's file, bytes: enough for thousands of machines.
const MOST_BYTES: u64 = 1 << 20;
/// Nothing that is sold carries more than a Tbit/s or costs more than a million USD an hour.
const MOST_MBIT: f64 = 1e6;
const MOST_USD: f64 = 1e6;
/// Range of an overhead, as a share of the payload.
pub(super) const OVERHEADS: RangeInclusive<f64> = 0.0..=10.0;

/// A list of prices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceList {
    /// Who collected it, and how.
    pub(super) source: String,
    pub(super) region: String,
    pub(super) date: String,
    #[serde(default)]
    pub(super) notes: Vec<String>,
    #[serde(rename = "machine")]
    pub(super) machines: Vec<MachineOffer>,
    #[serde(default, rename = "overhead")]
    pub(super) overheads: Vec<Overhead>,
}

/// A kind of machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MachineOffer {
    pub(super) name: String,
    pub(super) usd_per_hour: f64,
    /// Rate that it carries indefinitely, Mbit/s.
    pub(super) baseline_mbit: f64,
    /// Rate that it carries while it has credit, Mbit/s.
    pub(super) burst_mbit: Option<f64>,
    pub(super) note: Option<String>,
}

/// What something on the way, such as a tunnel, adds to the bytes on the wire.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Overhead {
    pub(super) name: String,
    /// Bytes that it adds, as a share of the payload.
    pub(super) share: f64,
    pub(super) source: String,
    /// Arm of a study that measures it.
    pub(super) measured: Option<MeasuredBy>,
}

/// An arm of a study that measures an overhead.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MeasuredBy {
    /// Level of each factor of the arm, by the factor's name.
    pub(super) levels: BTreeMap<String, String>,
    /// Name of the metric that is the overhead in per cent.
    pub(super) percent: String,
}

impl PriceList {
    /// Reads the list of a file, or the built-in one.
    pub(super) fn read(file: Option<&Path>) -> anyhow::Result<Self> {
        let Some(file) = file else {
            return Self::parse(OURS);
        };
        let text = foreign::file::read_text(file, MOST_BYTES);
        let text = text.with_context(|| format!("reading {}", file.display()))?;
        Self::parse(&text).with_context(|| file.display().to_string())
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let list: Self = toml::from_str(text)?;
        list.machines.iter().try_for_each(MachineOffer::check)?;
        list.overheads.iter().try_for_each(Overhead::check)?;
        ensure!(!list.machines.is_empty(), "it has no [[machine]]");
        Ok(list)
    }

    pub(super) fn overhead(&self, name: &str) -> anyhow::Result<&Overhead> {
        let mut overheads = self.overheads.iter();
        let found = overheads.find(|overhead| overhead.name == name);
        let Some(found) = found else {
            let known: Vec<&str> = self.overheads.iter().map(|it| it.name.as_str()).collect();
            bail!(
                "--over {name}: the list has no such [[overhead]], but {}; give one as NAME=SHARE, such as {name}=5%",
                known.join(", ")
            );
        };
        Ok(found)
    }
}

impl MachineOffer {
    fn check(&self) -> anyhow::Result<()> {
        let rates = [Some(self.baseline_mbit), self.burst_mbit];
        ensure!(
            rates
                .into_iter()
                .flatten()
                .all(|mbit| (0.0..=MOST_MBIT).contains(&mbit)),
            "{}: rates are 0 to {MOST_MBIT} Mbit/s",
            self.name
        );
        ensure!(
            (0.0..=MOST_USD).contains(&self.usd_per_hour),
            "{}: usd_per_hour is 0 to {MOST_USD}",
            self.name
        );
        Ok(())
    }
}

impl Overhead {
    fn check(&self) -> anyhow::Result<()> {
        ensure!(
            OVERHEADS.contains(&self.share),
            "{}: an overhead is a share of the payload, 0 to 10",
            self.name
        );
        let measured = self.measured.as_ref();
        ensure!(
            measured.is_none_or(|by| !by.levels.is_empty()),
            "{}: measured names no levels, so any arm would match",
            self.name
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_makes_no_sense_is_refused_by_what_is_wrong_with_it() {
        let list = |machine: &str| {
            PriceList::parse(&format!(
                "source = \"s\"\nregion = \"r\"\ndate = \"d\"\n{machine}"
            ))
        };
        let machine = "[[machine]]\nname = \"m\"\nusd_per_hour = 1\nbaseline_mbit = ";
        assert!(list(&format!("{machine}5")).is_ok());
        for (text, expected) in [
            (format!("{machine}-1"), "rates are 0 to"),
            (format!("{machine}nan"), "rates are 0 to"),
            (format!("{machine}5\ncpus = 2"), "unknown field `cpus`"),
            ("machine = []".to_owned(), "it has no [[machine]]"),
            (String::new(), "missing field `machine`"),
        ] {
            let error = list(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
