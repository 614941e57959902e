//! A knob that is a feature of a device, on or off.

use std::fmt;
use std::io;

use sys::ethtool::Feature;

use super::place::{Place, absent_as_not_found, typed};
use super::{DeviceName, FeatureName};
use crate::levers::value::{Form, Value};
use crate::tree::Tree;

impl FeatureName {
    /// Whether the driver allows the feature to be switched.
    ///
    /// # Errors
    /// Those of reading the feature.
    pub(crate) fn can_change(self, device: &DeviceName, tree: &Tree) -> io::Result<bool> {
        let place = OfDevice {
            device,
            feature: self,
        };
        Ok(place.ask(tree)?.can_change)
    }
}

/// Suffix for a feature that is off although it was requested: something it needs is off, and the
/// feature comes on together with that.
const WANTED: &str = ":wanted";
/// Suffix for a feature that is on although it was not requested: the driver needs it.
const UNWANTED: &str = ":unwanted";

/// A feature of one device. Its value is `on` or `off`, with a suffix where the opposite was
/// requested.
pub(super) struct OfDevice<'k> {
    pub(super) device: &'k DeviceName,
    pub(super) feature: FeatureName,
}

impl Place for OfDevice<'_> {
    fn form(&self) -> Form {
        Form::Word
    }

    fn read(&self, tree: &Tree) -> io::Result<Value> {
        Ok(Value::Word(word(&self.ask(tree)?)))
    }

    fn write(&self, tree: &Tree, value: &Value) -> io::Result<()> {
        let Value::Word(wanted) = value else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let before = self.ask(tree)?;
        self.switch(tree, asks_for_on(wanted))?;
        if word(&self.ask(tree)?) == *wanted {
            return Ok(());
        }
        // The kernel would remember the request until it can be met, so we withdraw it.
        self.switch(tree, before.is_wanted)?;
        let words = format!(
            "{} keeps it as it is: it depends on another feature",
            self.device
        );
        Err(io::Error::new(io::ErrorKind::Unsupported, words))
    }

    fn command(&self, value: &Value) -> String {
        let word = if asks_for_on(&value.to_string()) {
            "on"
        } else {
            "off"
        };
        format!("ethtool -K {} {} {word}", typed(self.device), self.feature)
    }
}

fn word(feature: &Feature) -> String {
    let (word, otherwise) = match feature.is_on {
        true => ("on", UNWANTED),
        false => ("off", WANTED),
    };
    match feature.is_on == feature.is_wanted {
        true => word.to_owned(),
        false => format!("{word}{otherwise}"),
    }
}

/// Whether a feature with this value was requested to be on.
fn asks_for_on(word: &str) -> bool {
    word == "on" || word.ends_with(WANTED)
}

impl OfDevice<'_> {
    fn switch(&self, tree: &Tree, on: bool) -> io::Result<()> {
        let (device, name) = (self.device.as_str(), self.feature.word());
        tree.drivers().switch_feature(device, name, on)
    }

    fn ask(&self, tree: &Tree) -> io::Result<Feature> {
        let features = tree.drivers().features(self.device.as_str());
        let mut features = features.map_err(absent_as_not_found)?.into_iter();
        let found = features.find(|feature| feature.name == self.feature.word());
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl fmt::Display for OfDevice<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", self.feature, self.device)
    }
}
