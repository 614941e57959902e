//! The topologies as data: hosts, what joins them, and who reaches whom by way of whom.
//!
//! Addresses are of 198.18.0.0/15, which RFC 2544 keeps for benchmarks: no network that a machine
//! can be in uses them, so one that turns up in a log or a capture is known for a rig's.

use std::net::Ipv4Addr;

use model::Topology;

use super::wire;

/// A rig before it is built. Hosts are named by their place in `hosts`.
pub(super) struct Layout {
    pub(super) hosts: &'static [HostLayout],
    pub(super) cables: &'static [[End; 2]],
    pub(super) routes: &'static [Route],
    pub(super) tunnels: &'static [Tunnel],
}

/// One host.
pub(super) struct HostLayout {
    pub(super) name: &'static str,
    /// Where the others reach it.
    pub(super) address: Option<Ipv4Addr>,
    /// It passes on what is for others.
    pub(super) forwards: bool,
}

/// One end of a cable: a device on a host.
pub(super) struct End {
    pub(super) host: usize,
    /// Names begin with [`PREFIX`] and go on with what the device leads to.
    pub(super) device: &'static str,
    pub(super) address: Option<Ipv4Addr>,
}

/// A host reaches a network by way of a neighbour.
pub(super) struct Route {
    pub(super) host: usize,
    pub(super) network: Ipv4Addr,
    pub(super) gateway: Ipv4Addr,
}

/// One end of a VXLAN tunnel.
pub(super) struct Tunnel {
    pub(super) host: usize,
    /// What carries it.
    pub(super) over: &'static str,
    pub(super) local: Ipv4Addr,
    pub(super) remote: Ipv4Addr,
    /// Of this end, within the tunnel.
    pub(super) address: Ipv4Addr,
}

/// Every network of a rig has this prefix, in bits.
pub(super) const PREFIX_BITS: u8 = 24;
/// How the name of every device of a rig begins.
pub(super) const PREFIX: &str = "lr-";
/// What the device of a tunnel is called.
pub(super) const TUNNEL_DEVICE: &str = "lr-tunnel";

/// The layout of a topology.
pub(super) fn layout(topology: Topology) -> &'static Layout {
    match topology {
        Topology::Netns => &NETNS,
        Topology::Router => &ROUTER,
        Topology::Tunnel => &TUNNEL,
        Topology::Wire => &WIRE,
        Topology::Apart => &APART,
    }
}

const fn host(name: &'static str, address: Option<Ipv4Addr>) -> HostLayout {
    HostLayout {
        name,
        address,
        forwards: false,
    }
}

const fn end(host: usize, device: &'static str, address: Ipv4Addr) -> End {
    End {
        host,
        device,
        address: Some(address),
    }
}

const fn bare_end(host: usize, device: &'static str) -> End {
    End {
        host,
        device,
        address: None,
    }
}

/// The address of a host in one of the networks of a rig.
const fn at(network: u8, number: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, network, number)
}

const CLIENT: usize = 0;
/// In a layout of three; of two, it is the server.
const MIDDLE: usize = 1;
const SERVER: usize = 2;

static NETNS: Layout = Layout {
    hosts: &[
        host("client", Some(at(0, 1))),
        host("server", Some(at(0, 2))),
    ],
    cables: &[[
        end(CLIENT, "lr-server", at(0, 1)),
        end(MIDDLE, "lr-client", at(0, 2)),
    ]],
    routes: &[],
    tunnels: &[],
};

static ROUTER: Layout = Layout {
    hosts: &[
        host("client", Some(at(0, 1))),
        ROUTING_HOST,
        host("server", Some(at(1, 1))),
    ],
    cables: ROUTED_CABLES,
    routes: ROUTES,
    tunnels: &[],
};

static TUNNEL: Layout = Layout {
    hosts: &[
        host("client", Some(at(2, 1))),
        ROUTING_HOST,
        host("server", Some(at(2, 2))),
    ],
    cables: ROUTED_CABLES,
    routes: ROUTES,
    tunnels: &[
        Tunnel {
            host: CLIENT,
            over: "lr-router",
            local: at(0, 1),
            remote: at(1, 1),
            address: at(2, 1),
        },
        Tunnel {
            host: SERVER,
            over: "lr-router",
            local: at(1, 1),
            remote: at(0, 1),
            address: at(2, 2),
        },
    ],
};

static WIRE: Layout = Layout {
    hosts: &[
        host("client", Some(at(0, 1))),
        host(wire::HOST, None),
        host("server", Some(at(0, 2))),
    ],
    cables: &[
        [
            end(CLIENT, wire::DEVICE, at(0, 1)),
            bare_end(MIDDLE, wire::TO_CLIENT),
        ],
        [
            end(SERVER, wire::DEVICE, at(0, 2)),
            bare_end(MIDDLE, wire::TO_SERVER),
        ],
    ],
    routes: &[],
    tunnels: &[],
};

static APART: Layout = Layout {
    hosts: &[
        host("client", Some(at(0, 1))),
        host("server", Some(at(0, 2))),
    ],
    cables: &[],
    routes: &[],
    tunnels: &[],
};

const ROUTING_HOST: HostLayout = HostLayout {
    name: "router",
    address: Some(at(0, 254)),
    forwards: true,
};

const ROUTED_CABLES: &[[End; 2]] = &[
    [
        end(CLIENT, "lr-router", at(0, 1)),
        end(MIDDLE, "lr-client", at(0, 254)),
    ],
    [
        end(SERVER, "lr-router", at(1, 1)),
        end(MIDDLE, "lr-server", at(1, 254)),
    ],
];

const ROUTES: &[Route] = &[
    Route {
        host: CLIENT,
        network: at(1, 0),
        gateway: at(0, 254),
    },
    Route {
        host: SERVER,
        network: at(0, 0),
        gateway: at(1, 254),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_has_two_ends_and_names_only_hosts_that_it_has_and_no_address_twice() {
        for topology in Topology::ALL {
            let layout = layout(topology);
            let ends_of_cables = || layout.cables.iter().flatten();
            let hosts = ends_of_cables().map(|end| end.host);
            let hosts = hosts.chain(layout.routes.iter().map(|route| route.host));
            let mut hosts = hosts.chain(layout.tunnels.iter().map(|tunnel| tunnel.host));
            assert!(hosts.all(|host| host < layout.hosts.len()), "{topology}");
            let ends = [layout.hosts.first(), layout.hosts.last()].map(Option::unwrap);
            assert_eq!(ends.map(|host| host.name), ["client", "server"]);
            assert!(ends.iter().all(|host| host.address.is_some()), "{topology}");
            let addresses = ends_of_cables().filter_map(|end| end.address);
            let within = layout.tunnels.iter().map(|tunnel| tunnel.address);
            let mut addresses: Vec<_> = addresses.chain(within).collect();
            let count = addresses.len();
            addresses.sort();
            addresses.dedup();
            assert_eq!(addresses.len(), count, "{topology}");
        }
    }

    #[test]
    fn device_names_fit_the_kernel_and_carry_the_prefix() {
        for topology in Topology::ALL {
            let devices = layout(topology).cables.iter().flatten();
            for device in devices.map(|end| end.device).chain([TUNNEL_DEVICE]) {
                // IFNAMSIZ is 16, with the zero at the end.
                assert!(device.starts_with(PREFIX) && device.len() < 16, "{device}");
            }
        }
    }
}
