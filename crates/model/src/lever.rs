//! Levers by name: settings of process, socket, namespace, device or host that we change and
//! restore. What they do lives in `machine`; this is only how they are written down.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// When a change takes hold, and so what must be redone before it can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binds {
    /// At once, on live connections.
    Live,
    /// For connections made afterwards.
    Connect,
    /// For sockets that listen afterwards.
    Listen,
    /// For processes started afterwards.
    Fork,
    /// After a reboot.
    Boot,
}

/// A lever and the value it is set to, written `name` or `name=value`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LeverSetting {
    pub name: String,
    pub value: Option<u64>,
}

impl fmt::Display for LeverSetting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Some(value) => write!(formatter, "{}={value}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

impl FromStr for LeverSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || !name.bytes().all(plain) {
            return Err(format!(
                "`{text}` is not a lever; expected `name` or `name=number`"
            ));
        }
        let number = |value: &str| {
            value
                .parse()
                .map_err(|_| format!("`{value}` in `{text}` is not a whole number"))
        };
        Ok(Self {
            name: name.to_owned(),
            value: value.map(number).transpose()?,
        })
    }
}

impl TryFrom<String> for LeverSetting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<LeverSetting> for String {
    fn from(setting: LeverSetting) -> Self {
        setting.to_string()
    }
}

/// How a lever may be written in a study file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeverShape {
    pub name: &'static str,
    /// The numbers that it takes; `None` for a lever that is on or off.
    pub values: Option<RangeInclusive<u64>>,
}

impl LeverShape {
    /// Whether it takes this value; without one it has its default.
    #[must_use]
    pub fn takes(&self, value: Option<u64>) -> bool {
        value.is_none_or(|value| {
            self.values
                .as_ref()
                .is_some_and(|values| values.contains(&value))
        })
    }
}

impl fmt::Display for LeverShape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.values {
            Some(values) => write!(
                formatter,
                "`{}=number` with a number from {} to {}",
                self.name,
                values.start(),
                values.end()
            ),
            None => write!(
                formatter,
                "`{}` without a number: it is on or off",
                self.name
            ),
        }
    }
}

/// Whether a lever can be used on a host, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeverState {
    pub name: String,
    pub binds: Binds,
    /// `None` where it can be used; otherwise the reason with its errno.
    pub unavailable: Option<String>,
    /// Whether it is a switch of our own server, that no other program has.
    #[serde(default)]
    pub only_serve: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lever_is_a_name_with_or_without_a_number() {
        let setting: LeverSetting = "nft-rules=100".parse().unwrap();
        assert_eq!(
            (setting.name.as_str(), setting.value),
            ("nft-rules", Some(100))
        );
        assert_eq!(setting.to_string(), "nft-rules=100");
        assert_eq!("conntrack".parse::<LeverSetting>().unwrap().value, None);
        for wrong in ["", "=3", "nft-rules=many", "Nft", "../etc/passwd"] {
            assert!(wrong.parse::<LeverSetting>().is_err(), "{wrong}");
        }
    }
}
