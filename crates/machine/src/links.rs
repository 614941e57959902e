//! The network devices of our namespace, as rtnetlink(7) lists them.

use std::io;

use sys::netlink;

use crate::rtnetlink;

// From linux/rtnetlink.h: types of the request and its answer.
const GET_LINK: u16 = 18;
const NEW_LINK: u16 = 16;
/// Flag of a device that is up, see netdevice(7).
pub(crate) const IFF_UP: u32 = 1;
/// Length of `struct ifinfomsg`: family, type, index, flags, change.
const HEADER_BYTES: usize = 16;

/// A network device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Device {
    pub(crate) index: u32,
    /// `ARPHRD_…` of linux/if_arp.h: the kind of its hardware addresses.
    pub(crate) hardware: u16,
    /// `IFF_…` of netdevice(7).
    pub(crate) flags: u32,
    pub(crate) name: String,
    pub(crate) mtu: u32,
    pub(crate) qdisc: Option<String>,
    /// `IF_OPER_…` of linux/if.h.
    pub(crate) state: u8,
    pub(crate) transmit_queue_packets: Option<u32>,
    pub(crate) transmit_queues: u32,
    pub(crate) receive_queues: u32,
    /// Kind of a virtual device, such as veth or bridge.
    pub(crate) virtual_kind: Option<String>,
    pub(crate) xdp_program: Option<u32>,
    /// `XDP_ATTACHED_…` of linux/if_link.h: what runs the XDP program (driver, kernel or device).
    pub(crate) xdp_mode: u8,
    pub(crate) address: Vec<u8>,
}

/// Lists the devices of the caller's network namespace, in order of their index.
///
/// # Errors
/// Those of the kernel; none are known for this request.
pub(crate) fn list() -> io::Result<Vec<Device>> {
    let mut devices = Vec::new();
    ask_for_all(|payload| devices.extend(parse(payload)))?;
    devices.sort_unstable_by_key(|device| device.index);
    Ok(devices)
}

/// Reads a numeric attribute of a device (`IFLA_…`); `None` if the kernel does not report it.
///
/// # Errors
/// `NotFound` if there is no such device.
pub(crate) fn attribute(device: &str, kind: u16) -> io::Result<Option<u32>> {
    const NAME: u16 = 3;
    let mut found = None;
    ask_for_all(|payload| {
        let attributes = payload.get(HEADER_BYTES..).unwrap_or_default();
        if within(attributes, NAME).map(text).as_deref() == Some(device) {
            found = Some(within(attributes, kind).map(number));
        }
    })?;
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Asks for all devices, and hands over the payload of each answer.
fn ask_for_all(mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let question = |payload: &mut Vec<u8>| payload.extend([0; HEADER_BYTES]);
    rtnetlink::list(GET_LINK, question, |message| {
        if message.kind == NEW_LINK {
            each(message.payload);
        }
    })
}

/// Parses the message about one device; `None` if it is cut short.
fn parse(payload: &[u8]) -> Option<Device> {
    let (header, attributes) = payload.split_at_checked(HEADER_BYTES)?;
    let mut device = Device {
        hardware: u16::from_ne_bytes([header[2], header[3]]),
        index: number(&header[4..8]),
        flags: number(&header[8..12]),
        ..Device::default()
    };
    for (kind, value) in netlink::attributes(attributes) {
        device.take(kind, value);
    }
    Some(device)
}

impl Device {
    /// Stores one attribute: `IFLA_…` of linux/if_link.h.
    fn take(&mut self, kind: u16, value: &[u8]) {
        const XDP: u16 = 43;
        const LINK_INFO: u16 = 18;
        match kind {
            1 => self.address = value.to_vec(),
            3 => self.name = text(value),
            4 => self.mtu = number(value),
            6 => self.qdisc = Some(text(value)),
            13 => self.transmit_queue_packets = Some(number(value)),
            16 => self.state = value.first().copied().unwrap_or(0),
            LINK_INFO => self.virtual_kind = within(value, 1).map(text),
            31 => self.transmit_queues = number(value),
            32 => self.receive_queues = number(value),
            // IFLA_XDP_PROG_ID. IFLA_XDP alone only says that there could be a program.
            XDP => {
                self.xdp_program = within(value, 4).map(number);
                let mode = within(value, 2).and_then(<[u8]>::first);
                self.xdp_mode = mode.copied().unwrap_or(0);
            }
            _ => {}
        }
    }
}

/// Finds the first attribute of a type among nested ones.
pub(crate) fn within(nested: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut attributes = netlink::attributes(nested);
    let found = attributes.find(|(kind, _)| *kind == wanted);
    found.map(|(_, value)| value)
}

/// Reads 32 bits in the machine's byte order; 0 if there are fewer.
pub(crate) fn number(value: &[u8]) -> u32 {
    let bytes = value.first_chunk::<4>();
    bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

/// Reads a text of the kernel, which ends with a zero byte.
pub(crate) fn text(value: &[u8]) -> String {
    let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_listed_with_its_name_and_kind() {
        let devices = list().unwrap();
        let loopback = devices.iter().find(|device| device.name == "lo").unwrap();
        // ARPHRD_LOOPBACK
        assert_eq!((loopback.hardware, loopback.index), (772, 1));
        assert!(loopback.mtu > 1000 && loopback.receive_queues > 0);
    }

    #[test]
    fn a_message_cut_short_is_no_device_and_odd_attributes_are_passed_over() {
        assert_eq!(parse(&[0; 15]), None);
        let mut payload = vec![0; HEADER_BYTES];
        payload.extend([6, 0, 4, 0, 1, 2, 0, 0]);
        payload.extend([200, 0, 3, 0]);
        assert_eq!(parse(&payload), Some(Device::default()));
    }
}
