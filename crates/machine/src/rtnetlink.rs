//! Requests to rtnetlink(7), the kernel's interface to devices, addresses, routes and queueing
//! disciplines, in the namespace of the calling thread.

use std::io;
use std::ops::ControlFlow;

use sys::netlink::{self, Family, Message, Netlink, push_attribute};

use crate::links;

// linux/netlink.h: `NLM_F_REQUEST | NLM_F_ACK`, and that with `NLM_F_CREATE | NLM_F_EXCL`.
pub(crate) const DO: u16 = 0x5;
pub(crate) const MAKE: u16 = DO | 0x600;
/// Requests a list of all objects (`NLM_F_REQUEST | NLM_F_DUMP`).
const DUMP: u16 = 0x0301;
/// `ENODEV`.
const NO_SUCH_DEVICE: i32 = 19;

/// Asks the kernel to do one thing.
///
/// # Errors
/// Any refusal by the kernel.
pub(crate) fn ask(kind: u16, flags: u16, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
    let mut request = Vec::new();
    netlink::push_message(&mut request, kind, flags, 1, fill);
    Netlink::open(Family::Route)?.ask(&request, 1, |_| ControlFlow::Continue(()))
}

/// Asks for all objects of a kind, and hands over each message of the answer.
///
/// # Errors
/// Any error that the kernel reports.
pub(crate) fn list(
    question: u16,
    fill: impl FnOnce(&mut Vec<u8>),
    mut each: impl FnMut(Message<'_>),
) -> io::Result<()> {
    let mut request = Vec::new();
    netlink::push_message(&mut request, question, DUMP, 1, fill);
    Netlink::open(Family::Route)?.ask(&request, 1, |message| {
        each(message);
        ControlFlow::Continue(())
    })
}

/// Returns the device of that name.
///
/// # Errors
/// `ENODEV` if there is none.
pub(crate) fn device(name: &str) -> io::Result<links::Device> {
    let mut devices = links::list()?.into_iter();
    let found = devices.find(|device| device.name == name);
    found.ok_or_else(|| io::Error::from_raw_os_error(NO_SUCH_DEVICE))
}

/// Returns the number of the device of that name.
///
/// # Errors
/// The errors of [`device`].
pub(crate) fn index_of(name: &str) -> io::Result<u32> {
    device(name).map(|device| device.index)
}

/// Appends `struct ifinfomsg`, with the flags that are to be set.
pub(crate) fn push_link(payload: &mut Vec<u8>, index: u32, flags: u32) {
    payload.extend([0; 4]);
    payload.extend(index.to_ne_bytes());
    payload.extend(flags.to_ne_bytes());
    payload.extend(flags.to_ne_bytes());
}

pub(crate) fn push_text(payload: &mut Vec<u8>, kind: u16, text: &str) {
    push_attribute(payload, kind, |value| {
        value.extend(text.as_bytes());
        value.push(0);
    });
}

pub(crate) fn push_bytes(payload: &mut Vec<u8>, kind: u16, bytes: &[u8]) {
    push_attribute(payload, kind, |value| value.extend(bytes));
}
