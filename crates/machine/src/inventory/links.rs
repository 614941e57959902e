//! Network devices with what their drivers say of them.

use model::inventory::{Channels, Coalescing, Feature, Link, Rings};
use sys::ethtool::Ethtool;

use super::look::Look;
use super::names;
use super::tables::{TABLES, named_bits};
use crate::errno::errno;
use crate::links::{self, Device};

const FOLDER: &str = "sys/class/net";

/// The devices of our network namespace.
pub(super) fn here(look: &Look) -> Vec<Link> {
    let devices = links::list().unwrap_or_else(|error| {
        look.hide("network devices", format!("rtnetlink: {}", errno(&error)));
        Vec::new()
    });
    let ethtool = Ethtool::open().ok();
    let link = |device: &Device| {
        let link = of_device(look, device);
        match &ethtool {
            Some(ethtool) => with_driver(link, &device.name, ethtool),
            None => link,
        }
    };
    devices.iter().map(link).collect()
}

/// What the kernel says of a device, without its driver.
pub(super) fn of_device(look: &Look, device: &Device) -> Link {
    let is_same = is_same(look, device);
    let text = |file: &str| {
        let file = format!("{FOLDER}/{}/{file}", device.name);
        is_same
            .then(|| look.text(&file, "network devices"))
            .flatten()
    };
    Link {
        index: device.index,
        name: shown_name(device, look.full()),
        kind: kind(device),
        flags: named_bits(&TABLES.device_flags, device.flags.into()),
        state: state(device.state),
        mtu: device.mtu,
        qdisc: device.qdisc.clone(),
        transmit_queue_packets: device.transmit_queue_packets,
        receive_queues: device.receive_queues,
        transmit_queues: device.transmit_queues,
        // −1 where the device does not know.
        speed_mbit: text("speed").and_then(|speed| speed.parse().ok()),
        duplex: text("duplex").filter(|duplex| duplex != "unknown"),
        numa_node: text("device/numa_node").and_then(|node| node.parse().ok()),
        xdp_program: device.xdp_program,
        mac_address: look.full().then(|| hexadecimal(&device.address)),
        ..Link::default()
    }
}

/// Whether the files of that name are about this device: `/sys` shows the network namespace in
/// which it was mounted, where another device may have the name.
fn is_same(look: &Look, device: &Device) -> bool {
    let text = |file: &str| {
        look.tree()
            .text(&format!("{FOLDER}/{}/{file}", device.name))
    };
    text("ifindex") == Some(device.index.to_string())
        && text("address") == Some(hexadecimal(&device.address))
}

fn with_driver(link: Link, name: &str, ethtool: &Ethtool) -> Link {
    let driver = ethtool.driver(name).ok();
    let bus = driver.as_ref().map(|driver| driver.bus.clone());
    Link {
        driver: driver.map(|driver| driver.name),
        bus: bus.filter(|bus| !bus.is_empty() && bus != "N/A"),
        rings: ethtool.rings(name).ok().map(rings),
        channels: ethtool.channels(name).ok().map(channels),
        coalescing: ethtool.coalescing(name).ok().map(coalescing),
        features: ethtool.features(name).map_or_else(|_| Vec::new(), features),
        ..link
    }
}

fn shown_name(device: &Device, full: bool) -> String {
    if full || names::is_given_by_rule(&device.name) {
        device.name.clone()
    } else {
        format!("device {}", device.index)
    }
}

/// The kind of a virtual device, or what its hardware is: `ARPHRD_…` of linux/if_arp.h.
fn kind(device: &Device) -> String {
    let hardware = match device.hardware {
        1 => "ether",
        32 => "infiniband",
        772 => "loopback",
        _ => "other",
    };
    device
        .virtual_kind
        .clone()
        .unwrap_or_else(|| hardware.to_owned())
}

/// `IF_OPER_…` of linux/if.h, as `ip link` writes them.
fn state(state: u8) -> String {
    let states = &TABLES.device_states;
    states.get(usize::from(state)).unwrap_or(&states[0]).clone()
}

fn hexadecimal(address: &[u8]) -> String {
    let pairs: Vec<_> = address.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(":")
}

fn rings(rings: sys::ethtool::Rings) -> Rings {
    Rings {
        receive: rings.receive,
        receive_most: rings.receive_most,
        transmit: rings.transmit,
        transmit_most: rings.transmit_most,
    }
}

fn channels(channels: sys::ethtool::Channels) -> Channels {
    Channels {
        receive: channels.receive,
        transmit: channels.transmit,
        combined: channels.combined,
        combined_most: channels.combined_most,
    }
}

fn coalescing(set: sys::ethtool::Coalescing) -> Coalescing {
    Coalescing {
        receive_us: set.receive_us,
        receive_frames: set.receive_frames,
        transmit_us: set.transmit_us,
        transmit_frames: set.transmit_frames,
        is_adaptive_receive: set.is_adaptive_receive,
        is_adaptive_transmit: set.is_adaptive_transmit,
    }
}

fn features(features: Vec<sys::ethtool::Feature>) -> Vec<Feature> {
    let feature = |feature: sys::ethtool::Feature| Feature {
        name: feature.name,
        is_on: feature.is_on,
        can_change: feature.can_change,
    };
    features.into_iter().map(feature).collect()
}
