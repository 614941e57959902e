//! What cannot be touched: network, kernel, control group, limits, permissions, identity.

use model::inventory::{Availability, Inventory, Limits, Link, Permissions};

use super::page::{Section, joined, size};

/// Features that change what a packet costs, by the kernel's names.
const TELLING_FEATURES: [&str; 8] = [
    "tx-tcp-segmentation",
    "tx-generic-segmentation",
    "tx-udp-segmentation",
    "rx-gro",
    "rx-gro-hw",
    "rx-lro",
    "rx-checksum",
    "rx-hashing",
];

pub(super) fn sections(inventory: &Inventory) -> Vec<Section> {
    vec![
        links(inventory),
        network(inventory),
        kernel(inventory),
        control_group(inventory),
        limits(&inventory.limits),
        permissions(&inventory.permissions),
        identity(inventory),
        hidden(inventory),
    ]
}

fn links(inventory: &Inventory) -> Section {
    let links = inventory.links.iter();
    Section::new("Network devices").rows(links.map(|link| (link.name.clone(), link_words(link))))
}

fn link_words(link: &Link) -> String {
    let driver = link
        .driver
        .as_ref()
        .map(|driver| format!("driver {driver}"));
    let qdisc = link.qdisc.as_ref().map(|qdisc| format!("qdisc {qdisc}"));
    let queue = link
        .transmit_queue_packets
        .map(|packets| format!("{packets} packets queued at most"));
    let rings = link.rings.map(|rings| {
        let (receive, transmit) = (rings.receive, rings.transmit);
        format!(
            "rings {receive} of {} in, {transmit} of {} out",
            rings.receive_most, rings.transmit_most
        )
    });
    let channels = link.channels.map(|channels| {
        format!(
            "channels {} of {}",
            channels.combined, channels.combined_most
        )
    });
    let parts = [
        Some(link.kind.clone()),
        Some(link.state.clone()),
        Some(format!("mtu {}", link.mtu)),
        speed(link),
        qdisc,
        queue,
        Some(format!(
            "queues {} in, {} out",
            link.receive_queues, link.transmit_queues
        )),
        driver,
        link.bus.as_ref().map(|bus| format!("at {bus}")),
        rings,
        channels,
        coalescing(link),
        link.numa_node.map(|node| format!("node {node}")),
        link.xdp_program.map(|id| format!("XDP program {id}")),
        link.mac_address.clone(),
        features(link),
    ];
    joined(parts.into_iter().flatten())
}

fn speed(link: &Link) -> Option<String> {
    let duplex = link
        .duplex
        .as_ref()
        .map_or_else(String::new, |duplex| format!(" {duplex} duplex"));
    Some(format!("{} Mbit/s{duplex}", link.speed_mbit?))
}

fn coalescing(link: &Link) -> Option<String> {
    let set = link.coalescing?;
    let adaptive = if set.is_adaptive_receive {
        ", adaptive"
    } else {
        ""
    };
    Some(format!(
        "interrupts held back {} µs in, {} µs out{adaptive}",
        set.receive_us, set.transmit_us
    ))
}

fn features(link: &Link) -> Option<String> {
    let telling = |name: &&str| TELLING_FEATURES.contains(name);
    let on = link.features.iter().filter(|feature| feature.is_on);
    let on: Vec<_> = on
        .map(|feature| feature.name.as_str())
        .filter(telling)
        .collect();
    (!on.is_empty()).then(|| format!("with {}", on.join(" ")))
}

fn network(inventory: &Inventory) -> Section {
    let network = &inventory.network;
    let control = inventory.facts.congestion_control.as_ref();
    let available = network.available_congestion_controls.join(" ");
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    Section::new("Network defaults")
        .row(
            "congestion",
            control.map(|control| format!("{control} of {available}")),
        )
        .row("qdisc", network.default_qdisc.clone())
        .row(
            "listen backlog",
            number(network.listen_backlog_most).map(|most| format!("{most} at most")),
        )
        .row(
            "device backlog",
            number(network.device_backlog_packets).map(|most| format!("{most} packets at most")),
        )
        .row("local ports", network.local_ports.clone())
        .row(
            "receive buffer",
            network
                .receive_buffer_bytes
                .as_ref()
                .map(|bytes| format!("{bytes} B")),
        )
        .row(
            "send buffer",
            network
                .send_buffer_bytes
                .as_ref()
                .map(|bytes| format!("{bytes} B")),
        )
        .row(
            "busy poll",
            number(network.busy_poll_us).map(|us| format!("{us} µs")),
        )
}

fn kernel(inventory: &Inventory) -> Section {
    let kernel = &inventory.kernel;
    let of_state = |wanted: Availability| {
        let parts = kernel.parts.iter().filter(move |part| part.state == wanted);
        joined(parts.map(|part| part.name.clone()))
    };
    Section::new("Kernel")
        .row("release", inventory.facts.kernel_release.clone())
        .row("preemption", kernel.preemption.clone())
        .row("booted with", kernel.boot_options.join(" "))
        .row("security", kernel.security_modules.join(" "))
        .row("has", of_state(Availability::Present))
        .row("can load", of_state(Availability::Loadable))
        .row("forbids us", of_state(Availability::Forbidden))
        .row("lacks", of_state(Availability::Absent))
        .row("may have", of_state(Availability::Unknown))
}

fn control_group(inventory: &Inventory) -> Section {
    let group = &inventory.control_group;
    let quota = inventory.facts.cpu_quota;
    Section::new("Control group")
        .row("version", group.version.map(|version| version.to_string()))
        .row(
            "CPU quota",
            group
                .version
                .map(|_| quota.map_or_else(|| "none".to_owned(), |cpus| format!("{cpus:.2} CPUs"))),
        )
        .row("CPUs", group.cpus.clone())
        .row(
            "memory",
            group
                .memory_bytes
                .map(|bytes| format!("{} at most", size(bytes))),
        )
}

fn limits(limits: &Limits) -> Section {
    let words = |limit: Option<u64>| {
        limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string())
    };
    let of_process = limits.process.iter().map(|limit| {
        let (soft, hard) = (words(limit.soft), words(limit.hard));
        let both = if soft == hard {
            soft
        } else {
            format!("{soft}, {hard} at most")
        };
        (limit.name.clone(), format!("{both} ({})", limit.unit))
    });
    let machine = [
        ("files", limits.open_files),
        ("processes", limits.processes),
        ("threads", limits.threads),
        ("maps of a process", limits.memory_maps),
    ];
    let of_machine = machine
        .into_iter()
        .filter_map(|(what, limit)| Some(format!("{} {what}", limit?)));
    Section::new("Limits")
        .rows(of_process)
        .row("machine", joined(of_machine))
}

fn permissions(permissions: &Permissions) -> Section {
    let settings = permissions.settings.iter().map(|setting| {
        let value = format!("{}: {}", setting.value, setting.meaning);
        (setting.name.clone(), value)
    });
    let who = if permissions.is_root {
        "root"
    } else {
        "an ordinary user"
    };
    Section::new("Permissions")
        .row(
            "we are",
            joined([who.to_owned(), permissions.capabilities.join(" ")]),
        )
        .rows(settings)
}

fn identity(inventory: &Inventory) -> Section {
    let section = Section::new("Identity");
    let Some(identity) = &inventory.facts.identity else {
        return section;
    };
    section
        .row("host", identity.host_name.clone())
        .row("user", identity.user_name.clone())
        .row("addresses", identity.addresses.join(" "))
}

fn hidden(inventory: &Inventory) -> Section {
    let hidden = inventory.hidden.iter();
    Section::new("Could not be seen")
        .rows(hidden.map(|hidden| (hidden.what.clone(), hidden.why.clone())))
}
