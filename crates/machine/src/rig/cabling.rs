//! The rtnetlink messages that set up a rig's devices, addresses and routes, in the namespace of
//! the calling thread.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use sys::netlink::push_attribute;

use super::layout::{PREFIX, PREFIX_BITS, TUNNEL_DEVICE, Tunnel};
use crate::links::{self, IFF_UP};
use crate::rtnetlink::{DO, MAKE, ask, index_of, push_bytes, push_link, push_text};

// From linux/rtnetlink.h: types of requests.
const NEW_LINK: u16 = 16;
const SET_LINK: u16 = 19;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
const NEW_NEIGHBOUR: u16 = 28;
// From linux/if_link.h: `IFLA_…`.
const NAME: u16 = 3;
const MASTER: u16 = 10;
const LINK_INFO: u16 = 18;
const KIND: u16 = 1;
const DATA: u16 = 2;
const PER_FAMILY: u16 = 26;
const NAMESPACE: u16 = 28;
/// `VETH_INFO_PEER` of linux/veth.h.
const PEER: u16 = 1;
/// UDP port of VXLAN (RFC 7348).
const VXLAN_PORT: u16 = 4789;
/// Any number does: no other tunnel is in these namespaces.
const VXLAN_NETWORK: u32 = 1;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// `ETIMEDOUT`.
const TIMED_OUT: i32 = 110;
/// Longest wait for the devices, which are usually ready within some ms.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The kernel has no IPv6 (`EAFNOSUPPORT`).
const NO_SUCH_FAMILY: i32 = 97;

/// Makes a pair of virtual devices, the second of which is created in another namespace.
pub(super) fn lay_cable(device: &str, peer: &str, peer_namespace: i32) -> io::Result<()> {
    ask(NEW_LINK, MAKE, |payload| {
        push_link(payload, 0, 0);
        push_text(payload, NAME, device);
        push_kind(payload, "veth", |data| {
            push_attribute(data, PEER, |peer_link| {
                push_link(peer_link, 0, 0);
                push_text(peer_link, NAME, peer);
                push_attribute(peer_link, NAMESPACE, |value| {
                    value.extend(peer_namespace.to_ne_bytes());
                });
            });
        });
    })
}

/// Makes the end of a tunnel; the kernel subtracts the encapsulation from its MTU.
pub(super) fn make_tunnel(tunnel: &Tunnel) -> io::Result<()> {
    let over = index_of(&tunnel.over)?;
    ask(NEW_LINK, MAKE, |payload| {
        push_link(payload, 0, 0);
        push_text(payload, NAME, TUNNEL_DEVICE);
        // IFLA_VXLAN_ID, _GROUP (the other end, as there is only one), _LINK, _LOCAL, _PORT.
        push_kind(payload, "vxlan", |data| {
            push_bytes(data, 1, &VXLAN_NETWORK.to_ne_bytes());
            push_bytes(data, 2, &tunnel.remote.octets());
            push_bytes(data, 3, &over.to_ne_bytes());
            push_bytes(data, 4, &tunnel.local.octets());
            push_bytes(data, 15, &VXLAN_PORT.to_be_bytes());
        });
    })
}

/// Makes a bridge between devices, and brings it up: what comes in by one leaves by the other.
pub(super) fn bridge(name: &str, ports: [&str; 2]) -> io::Result<()> {
    ask(NEW_LINK, MAKE, |payload| {
        push_link(payload, 0, 0);
        push_text(payload, NAME, name);
        push_kind(payload, "bridge", |_| {});
    })?;
    let bridge = index_of(name)?.to_ne_bytes();
    for port in ports {
        let port = index_of(port)?;
        ask(SET_LINK, DO, |payload| {
            push_link(payload, port, 0);
            push_bytes(payload, MASTER, &bridge);
        })?;
    }
    bring_up(name)
}

/// Brings up a device that sends nothing by itself. Without an IPv6 address of its own, the kernel
/// looks neither for duplicates nor for routers on it.
pub(super) fn bring_up(device: &str) -> io::Result<()> {
    let index = index_of(device)?;
    silence(index)?;
    ask(SET_LINK, DO, |payload| push_link(payload, index, IFF_UP))
}

fn silence(index: u32) -> io::Result<()> {
    // IFLA_INET6_ADDR_GEN_MODE and its IN6_ADDR_GEN_MODE_NONE.
    let done = set_per_family(index, AF_INET6, |values| push_bytes(values, 8, &[1]));
    match done {
        Err(error) if error.raw_os_error() == Some(NO_SUCH_FAMILY) => Ok(()),
        done => done,
    }
}

/// Sets whether a host forwards packets for others that arrive by a device.
pub(super) fn set_forwarding(device: &str, forwards: bool) -> io::Result<()> {
    let value = u32::from(forwards).to_ne_bytes();
    set_per_family(index_of(device)?, AF_INET, |values| {
        // IFLA_INET_CONF and its IPV4_DEVCONF_FORWARDING.
        push_attribute(values, 1, |settings| push_bytes(settings, 1, &value));
    })
}

fn set_per_family(index: u32, family: u8, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
    ask(SET_LINK, DO, |payload| {
        push_link(payload, index, 0);
        push_attribute(payload, PER_FAMILY, |families| {
            push_attribute(families, family.into(), fill);
        });
    })
}

/// Gives a device its address; the route to its network comes with it.
pub(super) fn give_address(device: &str, address: Ipv4Addr) -> io::Result<()> {
    let index = index_of(device)?;
    ask(NEW_ADDRESS, MAKE, |payload| {
        // struct ifaddrmsg: family, prefix, flags, scope, device.
        payload.extend([AF_INET, PREFIX_BITS, 0, 0]);
        payload.extend(index.to_ne_bytes());
        // IFA_ADDRESS and IFA_LOCAL are equal if there is no peer.
        push_bytes(payload, 1, &address.octets());
        push_bytes(payload, 2, &address.octets());
    })
}

/// Sets the permanent hardware address of a neighbour, so that the device never asks for it.
pub(super) fn add_neighbour(device: &str, address: Ipv4Addr, hardware: &[u8]) -> io::Result<()> {
    let index = index_of(device)?;
    ask(NEW_NEIGHBOUR, MAKE, |payload| {
        // struct ndmsg: family, padding, device, NUD_PERMANENT, flags, RTN_UNICAST.
        payload.extend([AF_INET, 0, 0, 0]);
        payload.extend(index.to_ne_bytes());
        payload.extend(0x80_u16.to_ne_bytes());
        payload.extend([0, 1]);
        // NDA_DST and NDA_LLADDR.
        push_bytes(payload, 1, &address.octets());
        push_bytes(payload, 2, hardware);
    })
}

/// Adds a route to a network by way of a neighbour.
pub(super) fn add_route(network: Ipv4Addr, gateway: Ipv4Addr) -> io::Result<()> {
    ask(NEW_ROUTE, MAKE, |payload| {
        // struct rtmsg: family, both prefixes, TOS, RT_TABLE_MAIN, RTPROT_STATIC,
        // RT_SCOPE_UNIVERSE, RTN_UNICAST, flags.
        payload.extend([AF_INET, PREFIX_BITS, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0]);
        // RTA_DST and RTA_GATEWAY.
        push_bytes(payload, 1, &network.octets());
        push_bytes(payload, 5, &gateway.octets());
    })
}

/// Adds a route to one neighbour, with a metric (`RTAX_…` of linux/rtnetlink.h).
pub(super) fn add_route_with_metric(
    device: &str,
    neighbour: Ipv4Addr,
    (kind, value): (u16, u32),
) -> io::Result<()> {
    let index = index_of(device)?;
    ask(NEW_ROUTE, MAKE, |payload| {
        // struct rtmsg as above, with a prefix of 32 bits and RT_SCOPE_LINK.
        payload.extend([AF_INET, 32, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0]);
        // RTA_DST, RTA_OIF and RTA_METRICS.
        push_bytes(payload, 1, &neighbour.octets());
        push_bytes(payload, 4, &index.to_ne_bytes());
        push_attribute(payload, 8, |metrics| {
            push_bytes(metrics, kind, &value.to_ne_bytes());
        });
    })
}

/// Waits until every device of the rig in this namespace passes packets. The kernel activates a
/// device some time after its other end came up. Until then it drops what is sent, including the
/// first SYN of a connection. Only the rig's devices count: modules such as ipip put a device of
/// their own into each new namespace, which stays down.
pub(super) fn await_devices() -> io::Result<()> {
    let mut failed = None;
    let are_ready = || match links::list() {
        Ok(devices) => devices
            .iter()
            .filter(|link| link.name.starts_with(PREFIX))
            .all(|link| link.qdisc.as_deref() != Some("noop")),
        Err(error) => {
            failed = Some(error);
            true
        }
    };
    let ready = sys::clock::wait_until(LONGEST_WAIT, are_ready);
    match failed {
        Some(error) => Err(error),
        None if ready => Ok(()),
        None => Err(io::Error::from_raw_os_error(TIMED_OUT)),
    }
}

fn push_kind(payload: &mut Vec<u8>, kind: &str, fill: impl FnOnce(&mut Vec<u8>)) {
    push_attribute(payload, LINK_INFO, |info| {
        push_text(info, KIND, kind);
        push_attribute(info, DATA, fill);
    });
}
