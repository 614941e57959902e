//! A knob that is a feature of a device, on or off.

use std::fmt;
use std::io;

use sys::ethtool::Feature;

use super::place::{Place, absent_as_not_found, typed};
use super::{DeviceName, FeatureName};
use crate::levers::value::{Form, Value};
use crate::tree::Tree;

impl FeatureName {
    /// Whether the driver lets it be switched.
    ///
    /// # Errors
    /// As those of reading it.
    pub(crate) fn can_change(self, device: &DeviceName, tree: &Tree) -> io::Result<bool> {
        let place = OfDevice {
            device,
            feature: self,
        };
        Ok(place.ask(tree)?.can_change)
    }
}

/// Behind the word of a feature that is off although it was asked for: what it needs is off, and it
/// comes on with that.
const WANTED: &str = ":wanted";
/// Behind that of one that is on although it was not asked for: the driver needs it.
const UNWANTED: &str = ":unwanted";

/// Such a feature of one device: the word `on` or `off`, and behind it that it was asked for otherwise.
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
        // The kernel keeps what was asked for until it can be met.
        self.switch(tree, before.is_wanted)?;
        let words = format!(
            "{} keeps it as it is: it hangs on another feature",
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

/// Whether who has left a feature at that word has asked for it.
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
