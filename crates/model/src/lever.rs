//! Levers by name: settings of process, socket, namespace, device or host that we change and
//! restore. The crate `machine` implements them; this module only defines how they are written.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::as_text;

/// When a change takes hold, and so what must be redone before it can be measured.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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

/// How far levers may reach beyond our own network namespaces and the processes that are started
/// there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leave {
    /// Whether they may reach the whole machine.
    pub on_host: bool,
    /// Whether they may reach the network namespace that the agent is in, in which a server runs
    /// that we did not start.
    #[serde(default)]
    pub in_place: bool,
    /// They may reach the network device that has this address of the host, by which another
    /// machine puts load on it; `None` if the load comes over no such device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card_at: Option<IpAddr>,
}

/// The reason why levers that distribute work over CPUs are not available if a server has one
/// worker.
pub const ONE_WORKER: &str = "the server has one worker, so there is no CPU to choose; \
                              `--workers all` starts one on each of its CPUs";

/// A lever and the value it is set to, written `name` or `name=value`.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "String", try_from = "String")]
pub struct LeverSetting {
    /// Name: lower-case letters, digits and hyphens.
    pub name: String,
    /// Value: one word, as a person types it.
    pub value: Option<String>,
}

impl fmt::Display for LeverSetting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
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
        let is_word =
            |value: &str| !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
        if name.is_empty() || !name.bytes().all(plain) || !value.is_none_or(is_word) {
            return Err(format!(
                "`{text}` is not a lever; expected `name` or `name=value`"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            value: value.map(str::to_owned),
        })
    }
}

as_text!(LeverSetting);

/// How a lever may be written in a study file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeverShape {
    pub name: &'static str,
    pub takes: Takes,
}

/// The values that a lever takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None: the lever is on or off.
    Nothing,
    Number(RangeInclusive<u64>),
    /// Values that this text describes; only the host can tell whether a value is one of them.
    Words(String),
}

impl LeverShape {
    /// Whether the lever accepts this value; without a value it uses its default.
    pub fn takes(&self, value: Option<&str>) -> bool {
        value.is_none_or(|value| match &self.takes {
            Takes::Nothing => false,
            Takes::Number(range) => value.parse().is_ok_and(|number| range.contains(&number)),
            Takes::Words(_) => true,
        })
    }
}

impl fmt::Display for LeverShape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name;
        match &self.takes {
            Takes::Nothing => write!(formatter, "`{name}` without a value: it is on or off"),
            Takes::Number(range) => write!(
                formatter,
                "`{name}=number` with a number from {} to {}",
                range.start(),
                range.end()
            ),
            Takes::Words(words) => write!(formatter, "`{name}=value` with {words}"),
        }
    }
}

/// Whether a lever can be set to a value on a host, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeverState {
    /// The lever with its value.
    pub setting: LeverSetting,
    /// When a change takes hold.
    pub binds: Binds,
    /// `None` if it can be used; otherwise the reason with its errno.
    pub unavailable: Option<String>,
    /// Whether the host already has that value, so that there is nothing to set.
    #[serde(default)]
    pub is_so: bool,
    /// Whether it is a switch of our own server, which no other program has.
    #[serde(default)]
    pub only_serve: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lever_is_a_name_with_or_without_a_value() {
        let setting: LeverSetting = "nft-rules=100".parse().unwrap();
        assert_eq!(
            (setting.name.as_str(), setting.value.as_deref()),
            ("nft-rules", Some("100"))
        );
        assert_eq!(setting.to_string(), "nft-rules=100");
        assert_eq!("conntrack".parse::<LeverSetting>().unwrap().value, None);
        for wrong in ["", "=3", "reno=", "reno=two words", "Nft", "../etc/passwd"] {
            assert!(wrong.parse::<LeverSetting>().is_err(), "{wrong}");
        }
    }
}
