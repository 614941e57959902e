//! What can be touched: CPUs, memory, disks and the devices of the buses.

use model::inventory::{Cpu, Disk, Inventory, Memory, NumaNode, PciDevice, UsbDevice};

use super::page::{Section, joined, size};

/// Flags that say what a server can do quickly, of the hundred and more that a CPU has.
const TELLING_FLAGS: [&str; 22] = [
    "aes",
    "vaes",
    "sha_ni",
    "pclmulqdq",
    "avx2",
    "avx512f",
    "avx512bw",
    "amx_tile",
    "sse4_2",
    "bmi2",
    "erms",
    "fsrm",
    "constant_tsc",
    "nonstop_tsc",
    "tsc_deadline_timer",
    "hypervisor",
    "vmx",
    "svm",
    "asimd",
    "sve",
    "crc32",
    "atomics",
];

pub(super) fn sections(inventory: &Inventory) -> Vec<Section> {
    let devices = Section::new("Devices")
        .rows(inventory.pci.iter().map(pci))
        .rows(inventory.usb.iter().map(usb));
    vec![
        cpus(inventory),
        memory(&inventory.memory),
        Section::new("Disks").rows(inventory.disks.iter().map(disk)),
        devices,
    ]
}

fn cpus(inventory: &Inventory) -> Section {
    let (cpu, facts) = (&inventory.cpu, &inventory.facts);
    let quota = facts
        .cpu_quota
        .map(|cpus| format!("a quota of {cpus:.2} CPUs"));
    let caches = cpu.caches.iter().map(|cache| {
        let (name, each) = (&cache.name, size(cache.size_bytes));
        format!("{name} {each} × {}", cache.instances)
    });
    let flags = cpu.flags.iter().map(String::as_str);
    let telling: Vec<_> = flags.filter(|flag| TELLING_FLAGS.contains(flag)).collect();
    Section::new("CPUs")
        .row("model", model(cpu, &facts.cpu_model))
        .row("topology", topology(cpu))
        .row(
            "ours",
            joined([facts.cpus_allowed.clone(), quota.unwrap_or_default()]),
        )
        .row("caches", joined(caches))
        .row(
            "frequency",
            frequency(cpu, facts.frequency_governor.as_deref()),
        )
        .row("idle", idle(cpu, facts.halt_poll_ns))
        .row("clock", clock(cpu, facts.clocksource.as_deref()))
        .row(
            "interrupts",
            facts
                .irq_time_accounting
                .map(|how| format!("their time is {}", how.words())),
        )
        .row("can", telling.join(" "))
        .rows(mitigations(inventory))
}

fn model(cpu: &Cpu, name: &str) -> String {
    let part = |label: &str, number: Option<u32>| number.map(|number| format!("{label} {number}"));
    let numbers = [
        cpu.vendor.clone(),
        part("family", cpu.family),
        part("model", cpu.model_number),
        part("stepping", cpu.stepping),
    ];
    joined([name.to_owned(), joined(numbers.into_iter().flatten())])
}

fn topology(cpu: &Cpu) -> Option<String> {
    let list = |label: &str, list: &Option<String>| {
        list.as_ref()
            .map_or_else(String::new, |list| format!("{label} {list}"))
    };
    (cpu.sockets > 0).then(|| {
        joined([
            format!("sockets {}", cpu.sockets),
            format!("cores per socket {}", cpu.cores_per_socket),
            format!("threads per core {}", cpu.threads_per_core),
            list("SMT", &cpu.smt),
            list("online", &cpu.online),
            list("offline", &cpu.offline),
            list("isolated", &cpu.isolated),
        ])
    })
}

fn frequency(cpu: &Cpu, governor: Option<&str>) -> Option<String> {
    let range = cpu.min_mhz.zip(cpu.max_mhz);
    let driver = cpu.frequency_driver.as_ref()?;
    Some(joined([
        range.map_or_else(String::new, |(min, max)| {
            format!("{min:.0} to {max:.0} MHz")
        }),
        format!("driver {driver}"),
        governor.map_or_else(String::new, |governor| format!("governor {governor}")),
    ]))
}

fn idle(cpu: &Cpu, halt_poll_ns: Option<u64>) -> String {
    let polls = halt_poll_ns.map(|ns| format!("polls {:.0} µs before it halts", ns as f64 / 1e3));
    joined([
        cpu.idle_driver
            .as_ref()
            .map_or_else(String::new, |driver| format!("driver {driver}")),
        cpu.idle_states.join(" "),
        polls.unwrap_or_default(),
    ])
}

fn clock(cpu: &Cpu, source: Option<&str>) -> Option<String> {
    Some(format!(
        "{} of {}",
        source?,
        cpu.available_clocksources.join(" ")
    ))
}

/// Those that cost nothing are counted, the others told.
fn mitigations(inventory: &Inventory) -> Vec<(String, String)> {
    let all = &inventory.facts.mitigations;
    let (spared, others): (Vec<_>, Vec<_>) =
        all.iter().partition(|(_, state)| *state == "Not affected");
    let mut rows = Vec::new();
    if !spared.is_empty() {
        rows.push((
            "not affected by".to_owned(),
            format!("{} of {} known weaknesses", spared.len(), all.len()),
        ));
    }
    rows.extend(
        others
            .into_iter()
            .map(|(name, state)| (name.clone(), state.clone())),
    );
    rows
}

fn memory(memory: &Memory) -> Section {
    let told = |bytes: Option<u64>| bytes.map(size);
    let blocks = memory.online_bytes.zip(memory.block_bytes);
    let huge = memory.huge_pages.iter().map(|pages| {
        let (each, free, total) = (size(pages.size_bytes), pages.free, pages.total);
        format!("{each}: {total} reserved, {free} free")
    });
    let transparent = memory.transparent_huge_pages.as_ref();
    Section::new("Memory")
        .row("available", told(memory.available_bytes))
        .row(
            "online",
            blocks.map(|(online, block)| format!("{} in blocks of {}", size(online), size(block))),
        )
        .row("swap", told(memory.swap_bytes))
        .row(
            "huge pages",
            joined(
                transparent
                    .map(|choice| format!("transparent: {choice}"))
                    .into_iter()
                    .chain(huge),
            ),
        )
        .rows(memory.nodes.iter().map(node))
}

fn node(node: &NumaNode) -> (String, String) {
    let distances: Vec<_> = node.distances.iter().map(u32::to_string).collect();
    let value = joined([
        format!("CPUs {}", node.cpus),
        node.memory_bytes.map_or_else(String::new, size),
        format!("distances {}", distances.join(" ")),
    ]);
    (format!("node {}", node.node), value)
}

fn disk(disk: &Disk) -> (String, String) {
    let is = |what: Option<bool>, word: &str| what.filter(|is| *is).map(|_| word.to_owned());
    let text =
        |label: &str, text: &Option<String>| text.as_ref().map(|text| format!("{label} {text}"));
    let sectors = disk.logical_block_bytes.zip(disk.physical_block_bytes);
    let parts = [
        Some(size(disk.size_bytes)),
        text("part of", &disk.part_of),
        disk.model.clone(),
        disk.is_rotational.map(|is| {
            if is {
                "says it rotates"
            } else {
                "does not rotate"
            }
            .to_owned()
        }),
        is(disk.is_read_only, "read only"),
        is(disk.is_removable, "removable"),
        text("scheduler", &disk.scheduler),
        sectors.map(|(logical, physical)| format!("sectors {logical}/{physical} B")),
        disk.queue_requests
            .map(|requests| format!("{requests} requests queued at most")),
        (!disk.mount_points.is_empty()).then(|| format!("on {}", disk.mount_points.join(" "))),
        text("serial", &disk.serial),
    ];
    (disk.name.clone(), joined(parts.into_iter().flatten()))
}

fn pci(device: &PciDevice) -> (String, String) {
    let names = [device.vendor_name.as_deref(), device.device_name.as_deref()];
    let names: Vec<_> = names.into_iter().flatten().collect();
    let parts = [
        device.class_name.clone(),
        names.join(" "),
        format!("{}:{}", device.vendor, device.device),
        device
            .driver
            .as_ref()
            .map_or_else(String::new, |driver| format!("driver {driver}")),
        device.link.clone().unwrap_or_default(),
        device
            .numa_node
            .map_or_else(String::new, |node| format!("node {node}")),
    ];
    (device.slot.clone(), joined(parts))
}

fn usb(device: &UsbDevice) -> (String, String) {
    let parts = [
        format!("{}:{}", device.vendor, device.product),
        device.class_name.clone(),
        device
            .speed_mbit
            .map_or_else(String::new, |speed| format!("{speed} Mbit/s")),
        device
            .serial
            .as_ref()
            .map_or_else(String::new, |serial| format!("serial {serial}")),
    ];
    (
        format!("usb {}.{}", device.bus, device.number),
        joined(parts),
    )
}
