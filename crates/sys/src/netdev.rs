//! The kernel's packet pollers of a network device (NAPI): one for each queue of a card, with
//! settings of its own, in the network namespace of the caller. The family `netdev` of generic
//! netlink reports and sets them (Documentation/netlink/specs/netdev.yaml).

use std::io;
use std::ops::ControlFlow;

use crate::netlink::{self, Family, Netlink, attributes, push_attribute};

// linux/genetlink.h and linux/netdev.h.
const CONTROLLER: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const NAPI_GET: u8 = 11;
const NAPI_SET: u8 = 14;
const NAPI_DEVICE: u16 = 1;
const NAPI_ID: u16 = 2;
const NAPI_DEFER: u16 = 5;
const NAPI_FLUSH_TIMEOUT: u16 = 6;
const NAPI_SUSPEND_TIMEOUT: u16 = 7;
const NAPI_THREADED: u16 = 8;
/// Length of `struct genlmsghdr`: command, version, and two reserved bytes.
const HEADER_BYTES: usize = 4;
// `NLM_F_REQUEST` with `NLM_F_ACK`, and with `NLM_F_DUMP`.
const DO: u16 = 0x5;
const DUMP: u16 = 0x301;

/// One NAPI; what an older kernel does not report is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Napi {
    pub id: u32,
    /// Number of empty polls before interrupts are on again.
    pub defer_hard_irqs: Option<u64>,
    pub flush_timeout_ns: Option<u64>,
    /// How long its interrupts stay off while a program polls by itself; 0 for never. Since Linux
    /// 6.13.
    pub suspend_timeout_ns: Option<u64>,
    /// What takes its packets, in the numbers of its device's file `threaded`: 0 for nothing of its
    /// own, 1 for a thread. Since Linux 6.17.
    pub threaded: Option<u64>,
}

/// Lists the NAPIs of the device with that number, in the order of their ids: none while it is
/// down.
///
/// # Errors
/// `ENODEV` where there is no such device, `ENOENT` before Linux 6.8.
pub fn napis(device_index: u32) -> io::Result<Vec<Napi>> {
    let netlink = Netlink::open(Family::Generic)?;
    let mut napis = Vec::new();
    let family = family(&netlink)?;
    let request = request(family, DUMP, NAPI_GET, |payload| {
        push_number(payload, NAPI_DEVICE, device_index);
    });
    netlink.ask(&request, 1, |message| {
        napis.extend((message.kind == family).then(|| napi(message.payload)));
        ControlFlow::Continue(())
    })?;
    napis.sort_unstable_by_key(|napi| napi.id);
    Ok(napis)
}

/// Sets how long the interrupts of a NAPI stay off while a program polls by itself, ns.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN` over the machine; `ENOENT` where there is no such NAPI; `EOPNOTSUPP` or
/// `EINVAL` before Linux 6.13.
pub fn suspend_for(napi_id: u32, timeout_ns: u32) -> io::Result<()> {
    let netlink = Netlink::open(Family::Generic)?;
    let request = request(family(&netlink)?, DO, NAPI_SET, |payload| {
        push_number(payload, NAPI_ID, napi_id);
        push_number(payload, NAPI_SUSPEND_TIMEOUT, timeout_ns);
    });
    netlink.ask(&request, 1, |_| ControlFlow::Continue(()))
}

/// Returns the number that the kernel has given the family since boot.
fn family(netlink: &Netlink) -> io::Result<u16> {
    let request = request(CONTROLLER, DO, GET_FAMILY, |payload| {
        push_attribute(payload, FAMILY_NAME, |name| name.extend(b"netdev\0"));
    });
    let mut found = None;
    netlink.ask(&request, 1, |message| {
        found = found.or_else(|| number(message.payload, FAMILY_ID));
        ControlFlow::Continue(())
    })?;
    let family = found.and_then(|family| u16::try_from(family).ok());
    family.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn request(family: u16, flags: u16, command: u8, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut request = Vec::new();
    netlink::push_message(&mut request, family, flags, 1, |payload| {
        payload.extend([command, 1, 0, 0]);
        fill(payload);
    });
    request
}

fn push_number(payload: &mut Vec<u8>, kind: u16, number: u32) {
    push_attribute(payload, kind, |value| value.extend(number.to_ne_bytes()));
}

fn napi(payload: &[u8]) -> Napi {
    let number = |kind| number(payload, kind);
    let id = number(NAPI_ID).and_then(|id| u32::try_from(id).ok());
    Napi {
        id: id.unwrap_or_default(),
        defer_hard_irqs: number(NAPI_DEFER),
        flush_timeout_ns: number(NAPI_FLUSH_TIMEOUT),
        suspend_timeout_ns: number(NAPI_SUSPEND_TIMEOUT),
        threaded: number(NAPI_THREADED),
    }
}

/// Reads a numeric attribute, which the kernel writes with as many bytes as the number needs.
fn number(payload: &[u8], wanted: u16) -> Option<u64> {
    let mut attributes = attributes(payload.get(HEADER_BYTES..)?);
    let (_, value) = attributes.find(|(kind, _)| *kind == wanted)?;
    match value.len() {
        2 => Some(u16::from_ne_bytes(value.try_into().ok()?).into()),
        4 => Some(u32::from_ne_bytes(value.try_into().ok()?).into()),
        8 => Some(u64::from_ne_bytes(value.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors of a kernel without the family, and of one whose family does not know NAPIs.
    const BEFORE_6_8: [i32; 2] = [libc::ENOENT, libc::EOPNOTSUPP];

    #[test]
    fn numbers_of_each_length_are_read_and_what_is_not_told_is_none() {
        let mut payload = vec![0; HEADER_BYTES];
        push_number(&mut payload, NAPI_ID, 840);
        push_attribute(&mut payload, NAPI_SUSPEND_TIMEOUT, |value| {
            value.extend(20_000_000_u64.to_ne_bytes());
        });
        push_attribute(&mut payload, NAPI_DEFER, |value| value.extend([1, 2, 3]));
        let wanted = Napi {
            id: 840,
            suspend_timeout_ns: Some(20_000_000),
            ..Napi::default()
        };
        assert_eq!(napi(&payload), wanted);
        assert_eq!(napi(&[]), Napi::default());
    }

    #[test]
    fn the_loopback_has_none_and_neither_has_a_device_that_is_not_there() {
        for (index, refusals) in [
            (1, &BEFORE_6_8[..]),
            (
                u32::MAX / 2,
                &[libc::ENODEV, libc::ENOENT, libc::EOPNOTSUPP],
            ),
        ] {
            match napis(index) {
                Ok(napis) => assert_eq!(napis, []),
                Err(error) => assert!(refusals.contains(&error.raw_os_error().unwrap()), "{error}"),
            }
        }
    }
}
