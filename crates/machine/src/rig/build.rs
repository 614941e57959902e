//! Builds namespaces with devices from a layout. The holder does this, since it has one thread.

use std::io;
use std::net::Ipv4Addr;

use sys::ethtool::Ethtool;
use sys::namespace::{self, NetworkNamespace, UtsNamespace};

use super::cabling;
use super::error::Step;
use super::layout::{End, Layout, PREFIX_BITS, TUNNEL_DEVICE};
use crate::rtnetlink;

/// The step that failed, and the kernel's error.
pub(super) type Failed = (Step, io::Error);

/// The namespaces of a rig, which live as long as this.
pub(super) struct Built {
    /// The network namespaces of the hosts, in the layout's order. Their devices were never in
    /// another namespace.
    pub(super) hosts: Vec<NetworkNamespace>,
    /// The UTS namespace by which the rig's programs are recognised: they and all that they start
    /// are in it.
    pub(super) uts: UtsNamespace,
}

/// Builds a rig. If a step fails, what was made so far is removed.
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
        // An end without an address belongs to a program, and programs carry finished packets.
        if ends.iter().any(|end| end.address.is_none()) {
            let finish = |device: &str| Ethtool::open()?.finish_packets_in_software(device);
            ends.into_iter()
                .try_for_each(|end| self.on(end.host, || finish(&end.device)))?;
        }
        Ok(())
    }

    /// Gives each end of a network the hardware addresses of the others, also across a wire.
    /// Otherwise it would ask for them over the link: the first packet would wait for one more
    /// round trip, and be lost if the question is lost.
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

    /// Does some work in the namespace of a host.
    fn on<T>(&self, host: usize, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.hosts[host].enter()?;
        work()
    }
}

/// Gives a device its address, if it has one, and brings it up.
fn equip(device: &str, address: Option<Ipv4Addr>, forwards: bool) -> io::Result<()> {
    if let Some(address) = address {
        cabling::give_address(device, address)?;
    }
    // A new namespace copies the machine's own setting, so it is set either way.
    cabling::set_forwarding(device, forwards)?;
    cabling::bring_up(device)
}
