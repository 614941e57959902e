//! Names that become part of a kernel file's path, and are therefore checked first.

use std::fmt;
use std::str::FromStr;

use model::as_text;
use serde::{Deserialize, Serialize};

use super::DriverSetting;
use crate::levers::value::Form;

/// A sysctl by its name with dots, such as `net.ipv4.tcp_rmem`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SysctlName(String);

/// Sysctls of `net.core` that each network namespace has for itself (net/core/sysctl_net_core.c,
/// `netns_core_table`). The limits of buffers are in that table too, but only the host's can be
/// written.
const CORE_OF_A_NAMESPACE: [&str; 2] = ["net.core.somaxconn", "net.core.optmem_max"];

/// Sysctls of `net.ipv4` that exist once for the machine (`ipv4_table` of
/// net/ipv4/sysctl_net_ipv4.c).
const IPV4_OF_THE_HOST: [&str; 2] = ["net.ipv4.tcp_mem", "net.ipv4.udp_mem"];

impl SysctlName {
    pub(super) fn file(&self) -> String {
        format!("proc/sys/{}", self.0.replace('.', "/"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether each network namespace has its own value. Of `net.ipv4`, that holds for nearly all
    /// that the catalogue sets.
    pub(super) fn is_of_a_namespace(&self) -> bool {
        let name = self.0.as_str();
        let is_of_ipv4 = name.starts_with("net.ipv4.") && !IPV4_OF_THE_HOST.contains(&name);
        is_of_ipv4 || CORE_OF_A_NAMESPACE.contains(&name)
    }

    pub(super) fn form(&self) -> Form {
        match self.0.as_str() {
            "net.ipv4.tcp_rmem"
            | "net.ipv4.tcp_wmem"
            | "net.ipv4.tcp_mem"
            | "net.ipv4.udp_mem"
            | "net.ipv4.ip_local_port_range" => Form::Numbers,
            "net.ipv4.tcp_congestion_control" | "net.core.default_qdisc" => Form::Word,
            _ => Form::Number,
        }
    }
}

impl FromStr for SysctlName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_part = |part: &str| {
            let plain =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            !part.is_empty() && part.bytes().all(plain)
        };
        if text.split('.').count() > 1 && text.split('.').all(is_part) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("`{text}` is no name of a sysctl"))
        }
    }
}

/// The name of a network device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct DeviceName(String);

impl DeviceName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DeviceName {
    type Err = String;

    /// Accepts what the kernel accepts as a name (`dev_valid_name` of net/core/dev.c).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = (1..16).contains(&text.len()) && text != "." && text != "..";
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'/' && byte != b':';
        if fits && text.bytes().all(is_plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(format!("`{text}` is no name of a network device"))
        }
    }
}

/// A queue of a network device, named as its folder in `/sys/class/net/…/queues`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Queue {
    Rx(u32),
    Tx(u32),
}

impl Queue {
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Rx(number) | Self::Tx(number) => number,
        }
    }
}

impl FromStr for Queue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let no_queue = || format!("`{text}` is no queue; expected rx-NUMBER or tx-NUMBER");
        let (direction, number) = text.split_once('-').ok_or_else(no_queue)?;
        let number = number.parse().map_err(|_| no_queue())?;
        match direction {
            "rx" => Ok(Self::Rx(number)),
            "tx" => Ok(Self::Tx(number)),
            _ => Err(no_queue()),
        }
    }
}

impl fmt::Display for SysctlName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rx(number) => write!(out, "rx-{number}"),
            Self::Tx(number) => write!(out, "tx-{number}"),
        }
    }
}

as_text!(SysctlName, DeviceName, Queue, DriverSetting);
