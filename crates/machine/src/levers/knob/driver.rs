//! A knob that is a number of a device's driver, set as ethtool(8) does.

use std::fmt;
use std::io;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sys::ethtool::Setting;

use super::DeviceName;
use super::place::{Place, absent_as_not_found, small, typed};
use crate::levers::value::{Form, Value};
use crate::tree::Tree;

/// A setting of a network device's driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct DriverSetting(Setting);

/// For each setting: its name in the journal, the flag of ethtool(8), and its word there.
const SETTINGS: [(Setting, &str, &str, &str); 11] = [
    (Setting::ReceiveUs, "rx-usecs", "-C", "rx-usecs"),
    (Setting::ReceiveFrames, "rx-frames", "-C", "rx-frames"),
    (Setting::TransmitUs, "tx-usecs", "-C", "tx-usecs"),
    (Setting::TransmitFrames, "tx-frames", "-C", "tx-frames"),
    (Setting::AdaptiveReceive, "adaptive-rx", "-C", "adaptive-rx"),
    (
        Setting::AdaptiveTransmit,
        "adaptive-tx",
        "-C",
        "adaptive-tx",
    ),
    (Setting::ReceiveRing, "rx-ring", "-G", "rx"),
    (Setting::TransmitRing, "tx-ring", "-G", "tx"),
    (Setting::ReceiveChannels, "rx-channels", "-L", "rx"),
    (Setting::TransmitChannels, "tx-channels", "-L", "tx"),
    (
        Setting::CombinedChannels,
        "combined-channels",
        "-L",
        "combined",
    ),
];

impl DriverSetting {
    pub(crate) const fn new(setting: Setting) -> Self {
        Self(setting)
    }

    /// The command that a person would type, up to the value.
    pub(crate) fn command(self, device: &str) -> String {
        let (.., flag, word) = self.row();
        format!("ethtool {flag} {device} {word}")
    }

    fn row(self) -> (Setting, &'static str, &'static str, &'static str) {
        let found = SETTINGS.iter().find(|(setting, ..)| *setting == self.0);
        *found.expect("the table has each setting")
    }

    /// The setting that, while it is on, lets the driver choose this number by itself: the times of
    /// either direction, and with them the numbers of packets to wait for.
    pub(crate) fn chosen_by(self) -> Option<Self> {
        match self.0 {
            Setting::ReceiveUs | Setting::ReceiveFrames => Some(Self(Setting::AdaptiveReceive)),
            Setting::TransmitUs | Setting::TransmitFrames => Some(Self(Setting::AdaptiveTransmit)),
            _ => None,
        }
    }

    /// Whether it is the number of queues that serve both directions.
    pub(in crate::levers) fn is_of_both_ways(self) -> bool {
        self.0 == Setting::CombinedChannels
    }

    /// Whether a driver may replace a number by another one near it.
    pub(super) fn is_rounded(self) -> bool {
        let (.., flag, _) = self.row();
        flag != "-L"
    }
}

impl fmt::Display for DriverSetting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name, ..) = self.row();
        out.write_str(name)
    }
}

impl FromStr for DriverSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = SETTINGS.iter().find(|(_, name, ..)| *name == text);
        let found = found.map(|(setting, ..)| Self(*setting));
        found.ok_or_else(|| format!("`{text}` is no setting of a driver"))
    }
}

/// A driver setting of one device.
pub(super) struct OfDriver<'k> {
    pub(super) device: &'k DeviceName,
    pub(super) setting: DriverSetting,
}

impl Place for OfDriver<'_> {
    fn form(&self) -> Form {
        Form::Number
    }

    fn read(&self, tree: &Tree) -> io::Result<Value> {
        let (number, _) = self.ask(tree)?;
        Ok(Value::Number(number.into()))
    }

    fn write(&self, tree: &Tree, value: &Value) -> io::Result<()> {
        let (device, setting) = (self.device.as_str(), self.setting.0);
        tree.drivers().set(device, setting, small(value)?)
    }

    fn command(&self, value: &Value) -> String {
        format!("{} {value}", self.setting.command(&typed(self.device)))
    }

    fn most(&self, tree: &Tree) -> Option<i64> {
        let (_, most) = self.ask(tree).ok()?;
        most.map(i64::from)
    }
}

impl OfDriver<'_> {
    fn ask(&self, tree: &Tree) -> io::Result<(u32, Option<u32>)> {
        let (device, setting) = (self.device.as_str(), self.setting.0);
        let answer = tree.drivers().setting(device, setting);
        let (number, most) = answer.map_err(absent_as_not_found)?;
        // A driver without such rings or channels reports a maximum of 0.
        if most == Some(0) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok((number, most))
    }
}

impl fmt::Display for OfDriver<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", self.setting, self.device)
    }
}
