//! A knob that is an attribute of a network device: the size of the largest packets before they are
//! cut into segments, or when received ones are merged.

use std::fmt;
use std::io;

use super::place::{Place, absent_as_not_found, small, typed};
use super::{DeviceName, LinkSetting};
use crate::levers::value::{Form, Value};
use crate::links;
use crate::rtnetlink::{self, push_bytes, push_link};
use crate::tree::Tree;

/// `RTM_SETLINK` of linux/rtnetlink.h.
const SET_LINK: u16 = 19;
/// `IFLA_TSO_MAX_SIZE`: the largest size that the driver accepts.
const DRIVER_MOST: u16 = 59;
/// `GRO_MAX_SIZE` of linux/netdevice.h.
const RECEIVE_MOST: i64 = 8 * 65_535;

/// A packet size of one device.
pub(super) struct OfLink<'k> {
    pub(super) device: &'k DeviceName,
    pub(super) setting: LinkSetting,
}

impl Place for OfLink<'_> {
    fn form(&self) -> Form {
        Form::Number
    }

    fn read(&self, _: &Tree) -> io::Result<Value> {
        let number = self.attribute(self.setting.attribute)?;
        let number = number.ok_or(io::ErrorKind::NotFound)?;
        Ok(Value::Number(number.into()))
    }

    fn write(&self, _: &Tree, value: &Value) -> io::Result<()> {
        let size = small(value)?;
        let index = rtnetlink::index_of(self.device.as_str())?;
        // The kernel may move the follower along with this size. It applies attributes in this
        // order, so the follower ends with its old value.
        let follower = self
            .setting
            .follower
            .as_ref()
            .and_then(|name| name.parse().ok());
        let kept = match follower.map(|it: LinkSetting| it.attribute) {
            Some(kind) => self.attribute(kind)?.map(|size| (kind, size)),
            None => None,
        };
        rtnetlink::ask(SET_LINK, rtnetlink::DO, |payload| {
            push_link(payload, index, 0);
            push_bytes(payload, self.setting.attribute, &size.to_ne_bytes());
            if let Some((kind, size)) = kept {
                push_bytes(payload, kind, &size.to_ne_bytes());
            }
        })
    }

    fn command(&self, value: &Value) -> String {
        let (device, word) = (typed(self.device), self.setting.word());
        format!("ip link set dev {device} {word} {value}")
    }

    fn most(&self, _: &Tree) -> Option<i64> {
        match self.setting.is_of_receiving() {
            true => Some(RECEIVE_MOST),
            false => self.attribute(DRIVER_MOST).ok()?.map(i64::from),
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
