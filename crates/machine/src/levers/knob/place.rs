//! How the value of a knob is read from the kernel and written to it.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;

use super::DeviceName;
use crate::levers::value::{Form, Value};
use crate::tree::Tree;

/// `CAP_NET_ADMIN`, a bit of `CapEff` (capabilities(7)).
const NET_ADMIN: u32 = 12;
/// `EPERM`.
const NOT_PERMITTED: i32 = 1;
/// `ENODEV` and `EOPNOTSUPP`: the device or its driver has nothing of the kind.
const ABSENT: [i32; 2] = [19, 95];

/// A place in the kernel that holds one value. It is displayed by the name that a person would use.
pub(super) trait Place: Display {
    fn form(&self) -> Form;

    /// # Errors
    /// `NotFound` where this machine has no such place.
    fn read(&self, tree: &Tree) -> io::Result<Value>;

    /// # Errors
    /// What the kernel refused.
    fn write(&self, tree: &Tree, value: &Value) -> io::Result<()>;

    /// Checks whether this process may write it.
    ///
    /// # Errors
    /// Why not.
    fn may_write(&self, tree: &Tree) -> io::Result<()> {
        may_administer_networks(tree)
    }

    /// The command that a person would type to set it.
    fn command(&self, value: &Value) -> String;

    /// The largest value, where the kernel reports one.
    fn most(&self, _: &Tree) -> Option<i64> {
        None
    }
}

/// Checks whether this process has `CAP_NET_ADMIN`.
fn may_administer_networks(tree: &Tree) -> io::Result<()> {
    match tree.capabilities() >> NET_ADMIN & 1 {
        1 => Ok(()),
        _ => Err(io::Error::from_raw_os_error(NOT_PERMITTED)),
    }
}

/// Turns the error of a device or driver that lacks something into `NotFound`, as for a missing
/// file.
pub(super) fn absent_as_not_found(error: io::Error) -> io::Error {
    let is_absent = |errno| ABSENT.contains(&errno);
    if error.raw_os_error().is_some_and(is_absent) {
        return io::ErrorKind::NotFound.into();
    }
    error
}

/// A device's name quoted for a shell: it may have characters that a shell would interpret.
pub(super) fn typed(device: &DeviceName) -> Cow<'_, str> {
    shell_words::quote(device.as_str())
}

/// The number of a value that the kernel stores in 32 bits.
pub(super) fn small(value: &Value) -> io::Result<u32> {
    match value {
        Value::Number(number) => u32::try_from(*number).map_err(io::Error::other),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}
