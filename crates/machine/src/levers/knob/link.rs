//! A knob that is an attribute of a network device: the largest packets before they are cut.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

use super::DeviceName;
use super::place::{Place, absent_as_not_found, small, typed};
use crate::levers::value::{Form, Value};
use crate::links;
use crate::rtnetlink::{self, push_bytes, push_link};
use crate::tree::Tree;

/// `RTM_SETLINK` of linux/rtnetlink.h.
const SET_LINK: u16 = 19;
/// `IFLA_TSO_MAX_SIZE`: what the driver takes at most.
const DRIVER_MOST: u16 = 59;
/// `GRO_MAX_SIZE` of linux/netdevice.h.
const RECEIVE_MOST: i64 = 8 * 65_535;

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkSetting {
    GsoMaxSize,
    GroMaxSize,
    GsoIpv4MaxSize,
    GroIpv4MaxSize,
}

impl LinkSetting {
    /// As ip(8) names it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::GsoMaxSize => "gso_max_size",
            Self::GroMaxSize => "gro_max_size",
            Self::GsoIpv4MaxSize => "gso_ipv4_max_size",
            Self::GroIpv4MaxSize => "gro_ipv4_max_size",
        }
    }

    /// `IFLA_…` of linux/if_link.h.
    fn kind(self) -> u16 {
        match self {
            Self::GsoMaxSize => 41,
            Self::GroMaxSize => 58,
            Self::GsoIpv4MaxSize => 63,
            Self::GroIpv4MaxSize => 64,
        }
    }

    /// What the kernel sets along with it, up to 64 KiB (`netif_set_gso_max_size` of net/core).
    fn follower(self) -> Option<Self> {
        match self {
            Self::GsoMaxSize => Some(Self::GsoIpv4MaxSize),
            Self::GroMaxSize => Some(Self::GroIpv4MaxSize),
            Self::GsoIpv4MaxSize | Self::GroIpv4MaxSize => None,
        }
    }

    fn is_of_sending(self) -> bool {
        matches!(self, Self::GsoMaxSize | Self::GsoIpv4MaxSize)
    }
}

/// Such a size of one device.
pub(super) struct OfLink<'k> {
    pub(super) device: &'k DeviceName,
    pub(super) setting: LinkSetting,
}

impl Place for OfLink<'_> {
    fn form(&self) -> Form {
        Form::Number
    }

    fn read(&self, _: &Tree) -> io::Result<Value> {
        let number = self.attribute(self.setting.kind())?;
        let number = number.ok_or(io::ErrorKind::NotFound)?;
        Ok(Value::Number(number.into()))
    }

    fn write(&self, _: &Tree, value: &Value) -> io::Result<()> {
        let size = small(value)?;
        let index = rtnetlink::index_of(self.device.as_str())?;
        // The kernel takes them in this order, so the follower ends as it was.
        let follower = self.setting.follower().map(LinkSetting::kind);
        let kept = follower.map(|kind| Ok::<_, io::Error>((kind, self.attribute(kind)?)));
        let kept = kept.transpose()?;
        rtnetlink::ask(SET_LINK, rtnetlink::DO, |payload| {
            push_link(payload, index, 0);
            push_bytes(payload, self.setting.kind(), &size.to_ne_bytes());
            if let Some((kind, Some(size))) = kept {
                push_bytes(payload, kind, &size.to_ne_bytes());
            }
        })
    }

    fn command(&self, value: &Value) -> String {
        let (device, word) = (typed(self.device), self.setting.word());
        format!("ip link set dev {device} {word} {value}")
    }

    fn most(&self, _: &Tree) -> Option<i64> {
        match self.setting.is_of_sending() {
            true => self.attribute(DRIVER_MOST).ok()?.map(i64::from),
            false => Some(RECEIVE_MOST),
        }
    }
}

impl OfLink<'_> {
    fn attribute(&self, kind: u16) -> io::Result<Option<u32>> {
        let found = links::attribute(self.device.as_str(), kind);
        found.map_err(absent_as_not_found)
    }
}

impl fmt::Display for OfLink<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", self.setting.word(), self.device)
    }
}
