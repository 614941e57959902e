//! The layouts of the topologies, which are the tables of `layouts.toml`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::LazyLock;

use model::Topology;
use serde::Deserialize;

static LAYOUTS: LazyLock<BTreeMap<String, Layout>> =
    LazyLock::new(|| crate::tables::own(include_str!("../../layouts.toml")));

/// The plan of a rig. Hosts are referred to by their index in `hosts`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layout {
    pub(super) hosts: Vec<HostLayout>,
    #[serde(default)]
    pub(super) cables: Vec<[End; 2]>,
    #[serde(default)]
    pub(super) routes: Vec<Route>,
    #[serde(default)]
    pub(super) tunnels: Vec<Tunnel>,
}

/// One host of a layout.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostLayout {
    pub(super) name: String,
    /// The address at which the other hosts reach it.
    pub(super) address: Option<Ipv4Addr>,
    /// Whether it forwards packets for others.
    #[serde(default)]
    pub(super) forwards: bool,
}

/// One end of a cable: a device on a host.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    pub(super) host: usize,
    /// Name of the device: [`PREFIX`] and what the device leads to.
    pub(super) device: String,
    pub(super) address: Option<Ipv4Addr>,
}

/// A route of a host to a network by way of a neighbour.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Route {
    pub(super) host: usize,
    pub(super) network: Ipv4Addr,
    pub(super) gateway: Ipv4Addr,
}

/// One end of a VXLAN tunnel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tunnel {
    pub(super) host: usize,
    /// The device that carries the tunnel.
    pub(super) over: String,
    pub(super) local: Ipv4Addr,
    pub(super) remote: Ipv4Addr,
    /// The address of this end within the tunnel.
    pub(super) address: Ipv4Addr,
}

/// Prefix length of every network of a rig, bits.
pub(super) const PREFIX_BITS: u8 = 24;
/// Prefix of the name of every device of a rig.
pub(super) const PREFIX: &str = "lr-";
/// Name of the device of a tunnel.
pub(super) const TUNNEL_DEVICE: &str = "lr-tunnel";

/// Returns the layout of a topology.
pub(super) fn layout(topology: Topology) -> &'static Layout {
    &LAYOUTS[topology.name()]
}

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
            assert_eq!(ends.map(|host| &*host.name), ["client", "server"]);
            assert!(ends.iter().all(|host| host.address.is_some()), "{topology}");
            let addresses = ends_of_cables().filter_map(|end| end.address);
            let within = layout.tunnels.iter().map(|tunnel| tunnel.address);
            let mut addresses: Vec<_> = addresses.chain(within).collect();
            let count = addresses.len();
            addresses.sort_unstable();
            addresses.dedup();
            assert_eq!(addresses.len(), count, "{topology}");
        }
    }

    #[test]
    fn the_wire_is_called_as_whoever_carries_there_calls_it() {
        use crate::rig::wire;
        let layout = layout(Topology::Wire);
        assert_eq!(layout.hosts[1].name, wire::HOST);
        let ends = layout
            .cables
            .iter()
            .map(|ends| ends.each_ref().map(|end| &*end.device));
        let wanted = [wire::TO_CLIENT, wire::TO_SERVER].map(|device| [wire::DEVICE, device]);
        assert!(ends.eq(wanted));
    }

    #[test]
    fn device_names_fit_the_kernel_and_carry_the_prefix() {
        for topology in Topology::ALL {
            let devices = layout(topology).cables.iter().flatten();
            for device in devices.map(|end| &*end.device).chain([TUNNEL_DEVICE]) {
                // IFNAMSIZ is 16, with the zero at the end.
                assert!(device.starts_with(PREFIX) && device.len() < 16, "{device}");
            }
        }
    }
}
