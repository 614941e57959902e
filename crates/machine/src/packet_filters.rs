//! The filters of traffic control that see the packets of a device, as rtnetlink(7) lists them. BPF
//! programs of container networks and monitors are attached there.

use std::io;

use sys::netlink::Message;

use crate::links::{number, text, within};
use crate::rig::qdisc::push_place;
use crate::rtnetlink;

// From linux/rtnetlink.h: types of the request and its answer.
const GET_FILTER: u16 = 46;
const NEW_FILTER: u16 = 44;
/// Length of `struct tcmsg`: family, index of the device, handle, parent, info.
const HEADER_BYTES: usize = 20;
/// The attribute that names the filter's kind (`TCA_KIND`).
const KIND: u16 = 1;

/// The direction in which a filter sees packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterHook {
    In,
    Out,
}

impl FilterHook {
    /// Returns the parent within the `clsact` discipline (`TC_H_MIN_INGRESS`, `TC_H_MIN_EGRESS`).
    fn parent(self) -> u32 {
        match self {
            Self::In => 0xffff_fff2,
            Self::Out => 0xffff_fff3,
        }
    }
}

/// A filter on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    /// The kernel's number of the device.
    pub(crate) device: u32,
    pub(crate) direction: FilterHook,
    /// The kind of filter, such as bpf, flower or u32.
    pub(crate) kind: String,
}

/// Lists the filters of the device with this number, each kind once for each direction.
///
/// # Errors
/// `EINVAL` or `ENODEV` if the device is gone.
pub(crate) fn of_device(device: u32) -> io::Result<Vec<Filter>> {
    let mut filters = Vec::new();
    for direction in [FilterHook::In, FilterHook::Out] {
        let place = [device, 0, direction.parent()];
        let question = |payload: &mut Vec<u8>| push_place(payload, place);
        rtnetlink::list(GET_FILTER, question, |message| {
            let found = kind(message).map(|kind| Filter {
                device,
                direction,
                kind,
            });
            filters.extend(found.filter(|found| !filters.contains(found)));
        })?;
    }
    Ok(filters)
}

/// Returns the kind of filter that a message describes. A chain, which every filter is part of, has
/// a message of its own without a handle; it is no filter.
fn kind(message: Message<'_>) -> Option<String> {
    let (header, attributes) = message.payload.split_at_checked(HEADER_BYTES)?;
    let has_handle = number(&header[8..12]) != 0;
    let wanted = message.kind == NEW_FILTER && has_handle;
    wanted.then(|| within(attributes, KIND).map(text)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loopback_of_our_own_tests_has_no_filter() {
        assert_eq!(of_device(1).unwrap(), []);
    }

    #[test]
    fn a_filter_without_a_handle_is_a_chain_and_no_filter() {
        let mut payload = vec![0; HEADER_BYTES];
        payload.extend([8, 0, 1, 0]);
        payload.extend(b"bpf\0");
        let told = |payload: &[u8]| {
            kind(Message {
                kind: NEW_FILTER,
                flags: 0,
                sequence: 1,
                payload,
            })
        };
        assert_eq!(told(&payload), None);
        payload[8] = 1;
        assert_eq!(told(&payload), Some("bpf".to_owned()));
        assert_eq!(told(&payload[..10]), None);
    }
}
