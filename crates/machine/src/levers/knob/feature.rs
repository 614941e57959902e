//! A knob that is a feature of a device, on or off.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};
use sys::ethtool::{Ethtool, Feature};

use super::DeviceName;
use super::place::{Place, absent_as_not_found, typed};
use crate::levers::value::{Form, Value};
use crate::tree::Tree;

/// A feature by the kernel's name (`netdev_features_strings` of net/ethtool/common.c), of those
/// that levers set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureName {
    RxGro,
    RxUdpGroForwarding,
    RxLro,
    TxGenericSegmentation,
    TxTcpSegmentation,
    TxTcp6Segmentation,
}

impl FeatureName {
    fn name(self) -> &'static str {
        match self {
            Self::RxGro => "rx-gro",
            Self::RxUdpGroForwarding => "rx-udp-gro-forwarding",
            Self::RxLro => "rx-lro",
            Self::TxGenericSegmentation => "tx-generic-segmentation",
            Self::TxTcpSegmentation => "tx-tcp-segmentation",
            Self::TxTcp6Segmentation => "tx-tcp6-segmentation",
        }
    }

    /// Whether the driver lets it be switched.
    ///
    /// # Errors
    /// As those of reading it.
    pub(crate) fn can_change(self, device: &DeviceName) -> io::Result<bool> {
        let place = OfDevice {
            device,
            feature: self,
        };
        Ok(place.ask()?.can_change)
    }
}

impl fmt::Display for FeatureName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Such a feature of one device: the word `on` or `off`.
pub(super) struct OfDevice<'k> {
    pub(super) device: &'k DeviceName,
    pub(super) feature: FeatureName,
}

impl Place for OfDevice<'_> {
    fn form(&self) -> Form {
        Form::Word
    }

    fn read(&self, _: &Tree) -> io::Result<Value> {
        let word = if self.ask()?.is_on { "on" } else { "off" };
        Ok(Value::Word(word.to_owned()))
    }

    fn write(&self, _: &Tree, value: &Value) -> io::Result<()> {
        let on = *value == Value::Word("on".to_owned());
        self.switch(on)?;
        if self.ask()?.is_on == on {
            return Ok(());
        }
        // The kernel keeps the wish until it can be met, which no reading shows.
        self.switch(!on)?;
        let words = format!(
            "{} keeps it as it is: it hangs on another feature",
            self.device
        );
        Err(io::Error::new(io::ErrorKind::Unsupported, words))
    }

    fn command(&self, value: &Value) -> String {
        format!("ethtool -K {} {} {value}", typed(self.device), self.feature)
    }
}

impl OfDevice<'_> {
    fn switch(&self, on: bool) -> io::Result<()> {
        Ethtool::open()?.switch_feature(self.device.as_str(), self.feature.name(), on)
    }

    fn ask(&self) -> io::Result<Feature> {
        let features = Ethtool::open()?.features(self.device.as_str());
        let mut features = features.map_err(absent_as_not_found)?.into_iter();
        let found = features.find(|feature| feature.name == self.feature.name());
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl fmt::Display for OfDevice<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", self.feature, self.device)
    }
}
