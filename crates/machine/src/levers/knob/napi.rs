//! A knob of a NAPI, which takes packets from a device: how long interrupts stay off while a
//! program polls for packets.

use std::fmt;
use std::io;

use sys::netdev::Napi;

use super::place::{Place, absent_as_not_found, small};
use super::{DeviceName, DeviceSetting};
use crate::levers::value::{Form, Value};
use crate::tree::Tree;

/// `ENOENT`: the kernel does not know the netlink family, or has no NAPI with this id.
const NONE: i32 = 2;

/// `ENETDOWN`.
const DOWN: i32 = 100;

/// Number of NAPIs that a device has; 0 while it is down.
///
/// # Errors
/// `NotFound` where the kernel does not report it.
pub(in crate::levers) fn count(device: &DeviceName, tree: &Tree) -> io::Result<usize> {
    Ok(napis(device, tree)?.len())
}

/// Describes a NAPI with a value other than its device's, which setting the device to `wanted`
/// would overwrite.
pub(super) fn of_its_own(
    device: &DeviceName,
    setting: DeviceSetting,
    wanted: Option<&Value>,
    tree: &Tree,
) -> Option<String> {
    let of = |napi: &Napi| match setting.word() {
        "gro_flush_timeout" => napi.flush_timeout_ns,
        "napi_defer_hard_irqs" => napi.defer_hard_irqs,
        "threaded" => napi.threaded,
        _ => None,
    };
    let of_device: u64 = tree.number(&format!("sys/class/net/{device}/{}", setting.word()))?;
    let napis = napis(device, tree).ok()?;
    let mut own = napis
        .iter()
        .filter_map(|napi| Some((napi.id, of(napi)?)))
        .filter(|(_, number)| *number != of_device)
        .filter(|(_, number)| !is_number(wanted, *number));
    let (id, number) = own.next()?;
    Some(format!("the NAPI {id} has {number} of its own"))
}

fn is_number(value: Option<&Value>, number: u64) -> bool {
    matches!(value, Some(Value::Number(value)) if u64::try_from(*value) == Ok(number))
}

fn napis(device: &DeviceName, tree: &Tree) -> io::Result<Vec<Napi>> {
    let reported = tree.drivers().napis(device.as_str());
    reported.map_err(|error| match error.raw_os_error() {
        Some(NONE) => io::ErrorKind::NotFound.into(),
        _ => absent_as_not_found(error),
    })
}

/// The suspend timeout of the nth NAPI of a device.
pub(super) struct OfNapi<'k> {
    pub(super) device: &'k DeviceName,
    pub(super) nth: usize,
}

impl Place for OfNapi<'_> {
    fn form(&self) -> Form {
        Form::Number
    }

    fn read(&self, tree: &Tree) -> io::Result<Value> {
        let timeout_ns = self.ask(tree)?.suspend_timeout_ns;
        let timeout_ns = timeout_ns.ok_or(io::ErrorKind::NotFound)?;
        let number = i64::try_from(timeout_ns).map_err(io::Error::other)?;
        Ok(Value::Number(number))
    }

    fn write(&self, tree: &Tree, value: &Value) -> io::Result<()> {
        let napi = self.ask(tree)?;
        tree.drivers().suspend_for(napi.id, small(value)?)
    }

    /// The command with the id that the NAPI has now.
    fn command(&self, value: &Value) -> String {
        let napi = self.ask(&Tree::of_this_machine());
        let id = napi.map_or_else(|_| "ID".to_owned(), |napi| napi.id.to_string());
        let order = format!("{{\"id\": {id}, \"irq-suspend-timeout\": {value}}}");
        format!("ynl --family netdev --do napi-set --json '{order}'")
    }
}

impl OfNapi<'_> {
    fn ask(&self, tree: &Tree) -> io::Result<Napi> {
        let napis = napis(self.device, tree)?;
        let found = napis.get(self.nth).copied();
        // The NAPI comes back with the device or the queue, and with the value that it was set to.
        found.ok_or_else(|| io::Error::from_raw_os_error(DOWN))
    }
}

impl fmt::Display for OfNapi<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "irq-suspend-timeout {} of {}", self.nth, self.device)
    }
}
