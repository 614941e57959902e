//! Network devices and what their drivers report.

use model::inventory::{Channels, Coalescing, Feature, Link, Rings};
use sys::ethtool::{Ethtool, Setting};

use super::look::Look;
use super::names;
use super::tables::{TABLES, named_bits};
use crate::errno::errno;
use crate::links::{self, Device};

const FOLDER: &str = "sys/class/net";

/// The network devices of our network namespace.
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

/// What the kernel reports about a device, without its driver's part.
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
        // −1 where the device does not know its speed.
        speed_mbit: text("speed").and_then(|speed| speed.parse().ok()),
        duplex: text("duplex").filter(|duplex| duplex != "unknown"),
        numa_node: text("device/numa_node").and_then(|node| node.parse().ok()),
        xdp_program: device.xdp_program,
        mac_address: look.full().then(|| hexadecimal(&device.address)),
        ..Link::default()
    }
}

/// Whether the files under this name describe this device: `/sys` shows the network namespace in
/// which it was mounted, where another device may have the same name.
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
    let ask = |setting| ethtool.setting(name, setting).ok();
    let bus = driver.as_ref().map(|driver| driver.bus.clone());
    Link {
        driver: driver.map(|driver| driver.name),
        bus: bus.filter(|bus| !bus.is_empty() && bus != "N/A"),
        rings: rings(&ask),
        channels: channels(&ask),
        coalescing: coalescing(&ask),
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

/// The kind of a virtual device; for others the kind of hardware, `ARPHRD_…` of linux/if_arp.h.
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

/// The name of a state (`IF_OPER_…` of linux/if.h) as `ip link` writes it.
fn state(state: u8) -> String {
    let states = &TABLES.device_states;
    states.get(usize::from(state)).unwrap_or(&states[0]).clone()
}

fn hexadecimal(address: &[u8]) -> String {
    let pairs: Vec<_> = address.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(":")
}

/// Asks the driver for a setting: its value, and the largest value that it can have.
type Ask<'a> = &'a dyn Fn(Setting) -> Option<(u32, Option<u32>)>;

fn rings(ask: Ask<'_>) -> Option<Rings> {
    let (receive, receive_most) = ask(Setting::ReceiveRing)?;
    let (transmit, transmit_most) = ask(Setting::TransmitRing)?;
    Some(Rings {
        receive,
        receive_most: receive_most.unwrap_or(0),
        transmit,
        transmit_most: transmit_most.unwrap_or(0),
    })
}

fn channels(ask: Ask<'_>) -> Option<Channels> {
    let (combined, combined_most) = ask(Setting::CombinedChannels)?;
    Some(Channels {
        receive: ask(Setting::ReceiveChannels)?.0,
        transmit: ask(Setting::TransmitChannels)?.0,
        combined,
        combined_most: combined_most.unwrap_or(0),
    })
}

fn coalescing(ask: Ask<'_>) -> Option<Coalescing> {
    Some(Coalescing {
        receive_us: ask(Setting::ReceiveUs)?.0,
        receive_frames: ask(Setting::ReceiveFrames)?.0,
        transmit_us: ask(Setting::TransmitUs)?.0,
        transmit_frames: ask(Setting::TransmitFrames)?.0,
        is_adaptive_receive: ask(Setting::AdaptiveReceive)?.0 != 0,
        is_adaptive_transmit: ask(Setting::AdaptiveTransmit)?.0 != 0,
    })
}

fn features(features: Vec<sys::ethtool::Feature>) -> Vec<Feature> {
    let feature = |feature: sys::ethtool::Feature| Feature {
        name: feature.name,
        is_on: feature.is_on,
        can_change: feature.can_change,
    };
    features.into_iter().map(feature).collect()
}
