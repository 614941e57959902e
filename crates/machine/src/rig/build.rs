//! From a layout to namespaces with devices in them; done by the holder, which has one thread.

use std::io;
use std::net::Ipv4Addr;

use sys::ethtool::Ethtool;
use sys::namespace::{self, NetworkNamespace, UtsNamespace};

use super::cabling;
use super::error::Step;
use super::layout::{End, Layout, PREFIX_BITS, TUNNEL_DEVICE};
use crate::rtnetlink;

/// What could not be done, and the kernel's word.
pub(super) type Failed = (Step, io::Error);

/// A rig's namespaces, which live as long as this does.
pub(super) struct Built {
    /// In the order of the layout's hosts; no device of theirs was ever in another.
    pub(super) hosts: Vec<NetworkNamespace>,
    /// By which its programs are known: they are in it with all that they start.
    pub(super) uts: UtsNamespace,
}

/// Builds a rig; what was made goes again where something fails.
pub(super) fn build(layout: &Layout) -> Result<Built, Failed> {
    namespace::become_able_to_make_networks().map_err(|error| (Step::UserNamespace, error))?;
    let uts = UtsNamespace::make().map_err(|error| (Step::UtsNamespace, error))?;
    let namespaces = layout.hosts.iter().map(|_| NetworkNamespace::make());
    let namespaces: Result<Vec<_>, _> = namespaces.collect();
    let hosts = namespaces.map_err(|error| (Step::NetworkNamespace, error))?;
    let built = Built { hosts, uts };
    for cable in &layout.cables {
        built
            .lay(layout, cable)
            .map_err(|error| (Step::Cable, error))?;
    }
    for route in &layout.routes {
        let add = || cabling::add_route(route.network, route.gateway);
        built
            .on(route.host, add)
            .map_err(|error| (Step::Route, error))?;
    }
    for tunnel in &layout.tunnels {
        let make = || {
            cabling::make_tunnel(tunnel)?;
            cabling::give_address(TUNNEL_DEVICE, tunnel.address)?;
            cabling::bring_up(TUNNEL_DEVICE)
        };
        built
            .on(tunnel.host, make)
            .map_err(|error| (Step::Tunnel, error))?;
    }
    let waits = (0..layout.hosts.len()).map(|host| built.on(host, cabling::await_devices));
    let waited: io::Result<()> = waits.collect();
    waited.map_err(|error| (Step::Devices, error))?;
    built
        .introduce(layout)
        .map_err(|error| (Step::Cable, error))?;
    Ok(built)
}

impl Built {
    fn lay(&self, layout: &Layout, [one, other]: &[End; 2]) -> io::Result<()> {
        let far = self.hosts[other.host].descriptor();
        self.on(one.host, || {
            cabling::lay_cable(&one.device, &other.device, far)
        })?;
        let ends = [one, other];
        ends.into_iter().try_for_each(|end| {
            let forwards = layout.hosts[end.host].forwards;
            self.on(end.host, || equip(&end.device, end.address, forwards))
        })?;
        // An end without an address is a program's, and programs carry finished packets.
        if ends.iter().any(|end| end.address.is_none()) {
            let finish = |device: &str| Ethtool::open()?.finish_packets_in_software(device);
            ends.into_iter()
                .try_for_each(|end| self.on(end.host, || finish(&end.device)))?;
        }
        Ok(())
    }

    /// Tells each end of a network where the others are, also across a wire. Who has to ask does so over the link:
    /// the first packet would wait for a round trip more, and be lost with the question.
    fn introduce(&self, layout: &Layout) -> io::Result<()> {
        let ends = layout.cables.iter().flatten();
        let ends = ends.filter_map(|end| Some((end, end.address?)));
        let network = |address: Ipv4Addr| address.to_bits() >> (32 - PREFIX_BITS);
        for (end, address) in ends.clone() {
            let device = self.on(end.host, || rtnetlink::device(&end.device))?;
            let others = ends.clone().filter(|(_, other)| *other != address);
            for (near, _) in others.filter(|(_, other)| network(*other) == network(address)) {
                let add = || cabling::add_neighbour(&near.device, address, &device.address);
                self.on(near.host, add)?;
            }
        }
        Ok(())
    }

    /// Does something in the namespace of a host.
    fn on<T>(&self, host: usize, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.hosts[host].enter()?;
        work()
    }
}

/// Gives a device its address, where it has one, and brings it up.
fn equip(device: &str, address: Option<Ipv4Addr>, forwards: bool) -> io::Result<()> {
    if let Some(address) = address {
        cabling::give_address(device, address)?;
    }
    // A new namespace takes the machine's own setting over, so it is set either way.
    cabling::set_forwarding(device, forwards)?;
    cabling::bring_up(device)
}
