//! The IPv4 routes of the main table, as rtnetlink(7) lists and accepts them.

mod words;

use std::io;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use sys::netlink::{self, push_attribute};

use crate::links::{number, within};
use crate::rtnetlink::{self, push_bytes};

// linux/rtnetlink.h: the request for the list, and its answer, which is also the order that sets a
// route.
const GET_ROUTE: u16 = 26;
const NEW_ROUTE: u16 = 24;
/// `NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE`: it never adds a route that was not there.
const REPLACE: u16 = rtnetlink::DO | 0x100;
const AF_INET: u8 = 2;
/// `RT_TABLE_MAIN` and `RTN_UNICAST`.
const MAIN: u32 = 254;
const UNICAST: u8 = 1;
/// Length of `struct rtmsg`.
const HEADER_BYTES: usize = 12;
/// The flags of a route that a user can set (`RTNH_F_PERVASIVE`, `RTNH_F_ONLINK`). The others
/// report its state, and the kernel does not accept them in an order.
const SET_FLAGS: u32 = 2 | 4;
/// Length of `struct rtnexthop`.
const NEXT_HOP_BYTES: usize = 8;

// `RTA_…`.
const DESTINATION: u16 = 1;
const DEVICE: u16 = 4;
const GATEWAY: u16 = 5;
const PRIORITY: u16 = 6;
const SOURCE: u16 = 7;
const METRICS: u16 = 8;
const MULTIPATH: u16 = 9;
const TABLE: u16 = 15;
/// The attributes that we know how to preserve.
const KEPT: [u16; 7] = [
    DESTINATION,
    DEVICE,
    GATEWAY,
    PRIORITY,
    SOURCE,
    METRICS,
    TABLE,
];

/// One route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// `struct rtmsg`: family, both prefixes, TOS, table, protocol, scope, type, flags.
    header: [u8; HEADER_BYTES],
    attributes: Vec<(u16, Vec<u8>)>,
}

/// What distinguishes a route from others of its table, for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteKey {
    destination: Ipv4Addr,
    /// Length of the destination's prefix, bits.
    bits: u8,
    tos: u8,
    priority: u32,
}

/// Returns all routes of the main table, also those that lead nowhere (blackhole and the like). The
/// kernel may take such a route and an ordinary one for the same, and it replaces the first match.
///
/// # Errors
/// Any error that the kernel reports.
pub(crate) fn list() -> io::Result<Vec<Route>> {
    let question = |payload: &mut Vec<u8>| {
        payload.push(AF_INET);
        payload.extend([0; HEADER_BYTES - 1]);
    };
    let mut routes = Vec::new();
    rtnetlink::list(GET_ROUTE, question, |message| {
        if message.kind == NEW_ROUTE {
            routes.extend(Route::parse(message.payload));
        }
    })?;
    routes.retain(|route| route.table() == MAIN);
    Ok(routes)
}

impl Route {
    fn parse(payload: &[u8]) -> Option<Self> {
        let (header, attributes) = payload.split_first_chunk::<HEADER_BYTES>()?;
        let attributes = netlink::attributes(attributes);
        Some(Self {
            header: *header,
            attributes: attributes
                .map(|(kind, value)| (kind, value.to_vec()))
                .collect(),
        })
    }

    pub(crate) fn key(&self) -> RouteKey {
        let destination = self.attribute(DESTINATION).and_then(address);
        RouteKey {
            destination: destination.unwrap_or(Ipv4Addr::UNSPECIFIED),
            bits: self.header[1],
            tos: self.header[3],
            priority: self.attribute(PRIORITY).map_or(0, number),
        }
    }

    /// Whether it is a unicast route and any of its next hops leads through the device with that
    /// number.
    pub(crate) fn leads_through(&self, device: u32) -> bool {
        if self.header[7] != UNICAST {
            return false;
        }
        let only = self.attribute(DEVICE).map(number) == Some(device);
        let several = self.attribute(MULTIPATH).unwrap_or_default();
        only || next_hop_devices(several).any(|found| found == device)
    }

    /// Why the route could not be preserved exactly while one of its metrics is changed; `None` if
    /// it can.
    pub(crate) fn obstacle(&self) -> Option<String> {
        if self.attribute(MULTIPATH).is_some() {
            return Some("it has several next hops, which would not be kept exactly".to_owned());
        }
        let mut kinds = self.attributes.iter().map(|(kind, _)| *kind);
        let foreign = kinds.find(|kind| !KEPT.contains(kind))?;
        Some(format!(
            "it has what we do not know how to keep (attribute {foreign} of rtnetlink: an \
             encapsulation, a next-hop object or the like)"
        ))
    }

    /// The value of a metric `RTAX_…`; 0 if it is not set.
    pub(crate) fn metric(&self, kind: u16) -> u32 {
        let metrics = self.attribute(METRICS).unwrap_or_default();
        within(metrics, kind).map_or(0, number)
    }

    /// Returns this route with one metric set, or unset if `value` is 0.
    pub(crate) fn with_metric(&self, kind: u16, value: u32) -> Self {
        let mut metrics = Vec::new();
        let all = netlink::attributes(self.attribute(METRICS).unwrap_or_default());
        for (other, bytes) in all.filter(|(other, _)| *other != kind) {
            push_bytes(&mut metrics, other, bytes);
        }
        if value != 0 {
            push_bytes(&mut metrics, kind, &value.to_ne_bytes());
        }
        let mut route = self.clone();
        route.attributes.retain(|(kind, _)| *kind != METRICS);
        if !metrics.is_empty() {
            route.attributes.push((METRICS, metrics));
        }
        route
    }

    /// Replaces the first route with the same key, whatever its type (`fib_table_insert` of
    /// net/ipv4/fib_trie.c).
    ///
    /// # Errors
    /// `ESRCH` or `ENOENT` if there is none; any other refusal of the kernel.
    pub(crate) fn replace(&self) -> io::Result<()> {
        rtnetlink::ask(NEW_ROUTE, REPLACE, |payload| {
            payload.extend(&self.header[..8]);
            payload.extend((number(&self.header[8..]) & SET_FLAGS).to_ne_bytes());
            for (kind, bytes) in &self.attributes {
                push_attribute(payload, *kind, |value| value.extend(bytes));
            }
        })
    }

    fn table(&self) -> u32 {
        self.attribute(TABLE)
            .map_or_else(|| self.header[4].into(), number)
    }

    fn attribute(&self, wanted: u16) -> Option<&[u8]> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|(kind, _)| *kind == wanted);
        found.map(|(_, value)| value.as_slice())
    }
}

fn address(bytes: &[u8]) -> Option<Ipv4Addr> {
    bytes.first_chunk::<4>().copied().map(Ipv4Addr::from)
}

/// The devices of a route's next hops, by number; each `struct rtnexthop` holds its own length.
fn next_hop_devices(ways: &[u8]) -> impl Iterator<Item = u32> {
    let mut rest = ways;
    std::iter::from_fn(move || {
        let head = rest.get(..NEXT_HOP_BYTES)?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        rest = rest.get(length.next_multiple_of(4).max(NEXT_HOP_BYTES)..)?;
        Some(number(&head[4..]))
    })
}

#[cfg(test)]
mod tests;
