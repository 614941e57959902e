//! The inventory of a made-up machine, and of one without files.

mod machine;

use model::inventory::{Availability, Hidden};

use super::*;
use crate::links::Device;
use machine::planted;

fn inventory(test: &str, full: bool) -> Inventory {
    from_files(&Look::new(planted(test).tree.clone(), full))
}

#[test]
fn the_cpus_of_two_sockets_are_counted_once_each() {
    let cpu = inventory("inventory-cpu", false).cpu;
    assert_eq!(
        (cpu.sockets, cpu.cores_per_socket, cpu.threads_per_core),
        (2, 2, 2)
    );
    let caches: Vec<_> = cpu
        .caches
        .iter()
        .map(|cache| (cache.name.as_str(), cache.size_bytes, cache.instances))
        .collect();
    let kib = |kib: u64| kib * 1024;
    assert_eq!(
        caches,
        [
            ("L1d", kib(48), 4),
            ("L1i", kib(32), 4),
            ("L2", kib(2048), 4),
            ("L3", kib(61440), 2)
        ]
    );
    assert_eq!(
        (cpu.family, cpu.model_number, cpu.stepping),
        (Some(6), Some(143), Some(8))
    );
    assert_eq!((cpu.min_mhz, cpu.max_mhz), (Some(800.0), Some(3400.0)));
    assert_eq!((cpu.isolated.as_deref(), cpu.offline), (Some("2-3"), None));
    assert_eq!(cpu.idle_states, ["POLL", "C1"]);
}

#[test]
fn memory_is_told_by_node_and_by_page() {
    let memory = inventory("inventory-memory", false).memory;
    assert_eq!(memory.online_bytes, Some(128 << 20));
    assert_eq!(memory.transparent_huge_pages.as_deref(), Some("madvise"));
    assert_eq!(
        (memory.huge_pages[0].total, memory.huge_pages[0].free),
        (512, 500)
    );
    assert_eq!(memory.nodes.len(), 2);
    assert_eq!(memory.nodes[0].memory_bytes, Some(131_000_000 * 1024));
    assert_eq!(
        (
            memory.nodes[1].cpus.as_str(),
            &memory.nodes[1].distances[..]
        ),
        ("2-3,6-7", &[21, 10][..])
    );
}

#[test]
fn a_disk_has_its_partitions_and_unusual_mount_points_and_serials_stay_hidden() {
    let disks = inventory("inventory-disks", false).disks;
    let [disk, part] = &disks[..] else {
        panic!("{disks:?}")
    };
    assert_eq!(
        (disk.size_bytes, disk.scheduler.as_deref()),
        (1_000_215_216 * 512, Some("none"))
    );
    assert_eq!(
        (disk.is_rotational, disk.queue_requests),
        (Some(false), Some(1023))
    );
    assert_eq!((&disk.part_of, &disk.serial), (&None, &None));
    assert_eq!(part.part_of.as_deref(), Some("nvme0n1"));
    assert_eq!(part.mount_points, ["/"]);
    let full = inventory("inventory-disks-full", true).disks;
    assert_eq!(full[0].serial.as_deref(), Some("planted-serial"));
    assert_eq!(full[1].mount_points, ["/", "/srv/planted-customer"]);
}

#[test]
fn a_card_is_told_with_its_class_driver_node_and_link() {
    let inventory = inventory("inventory-card", false);
    let [card] = &inventory.pci[..] else {
        panic!("{:?}", inventory.pci)
    };
    assert_eq!(
        (card.class_name.as_str(), card.vendor.as_str()),
        ("Ethernet controller", "15b3")
    );
    assert_eq!(
        (card.driver.as_deref(), card.numa_node),
        (Some("mlx5_core"), Some(1))
    );
    assert_eq!(card.link.as_deref(), Some("16.0 GT/s PCIe ×8"));
    assert!(
        inventory.usb.is_empty(),
        "a device without a vendor is none"
    );
}

#[test]
fn the_speed_of_a_network_device_is_read_if_the_file_is_about_this_device() {
    let planted = planted("inventory-links");
    let look = Look::new(planted.tree.clone(), false);
    let device = |index| Device {
        index,
        name: "enp129s0f0np0".to_owned(),
        hardware: 1,
        flags: 1 | 1 << 16,
        state: 6,
        address: vec![0, 0, 0x5e, 0, 0x53, 1],
        ..Device::default()
    };
    let link = links::of_device(&look, &device(2));
    assert_eq!(
        (link.speed_mbit, link.state.as_str()),
        (Some(100_000), "UP")
    );
    assert_eq!(
        (link.name.as_str(), link.flags.join(" ")),
        ("enp129s0f0np0", "UP LOWER_UP".to_owned())
    );
    assert_eq!(link.mac_address, None);
    assert_eq!(links::of_device(&look, &device(3)).speed_mbit, None);
}

#[test]
fn kernel_parts_are_present_loadable_or_absent_and_secret_boot_options_are_left_out() {
    let kernel = inventory("inventory-kernel", false).kernel;
    let state = |name: &str| {
        kernel
            .parts
            .iter()
            .find(|part| part.name == name)
            .unwrap()
            .state
    };
    assert_eq!(
        (state("fq"), state("kTLS")),
        (Availability::Present, Availability::Present)
    );
    assert_eq!(
        (state("netem"), state("tun")),
        (Availability::Loadable, Availability::Loadable)
    );
    assert_eq!(
        (state("veth"), state("PSI")),
        (Availability::Absent, Availability::Present)
    );
    assert_eq!(kernel.boot_options, ["isolcpus=2-3", "mitigations=off"]);
    assert_eq!(
        kernel.security_modules,
        ["lockdown", "capability", "apparmor"]
    );
}

#[test]
fn limits_and_permissions_are_told_with_what_they_mean() {
    let inventory = inventory("inventory-limits", false);
    let files = &inventory.limits.process[0];
    assert_eq!((files.soft, files.hard), (Some(1024), Some(524_288)));
    assert_eq!(inventory.limits.process[1].soft, None);
    let permissions = inventory.permissions;
    assert!(!permissions.is_root);
    assert_eq!(permissions.capabilities, ["net_admin", "net_raw"]);
    assert_eq!(
        permissions.settings[0].meaning,
        "only root may use perf events"
    );
}

#[test]
fn without_full_nothing_that_was_planted_is_told() {
    let told = format!("{:?}", inventory("inventory-untold", false));
    assert!(
        !told.contains("planted") && !told.contains("00:00:5e"),
        "{told}"
    );
}

#[test]
fn a_machine_without_files_has_a_page_that_names_each_of_them() {
    let empty = from_files(&Look::new(Tree::below("/nonexistent"), true));
    let names = |what: &str| {
        empty
            .hidden
            .iter()
            .any(|hidden: &Hidden| hidden.what == what)
    };
    assert!(
        names("disks") && names("memory") && names("PCI devices"),
        "{:?}",
        empty.hidden
    );
    assert_eq!((empty.cpu.sockets, empty.disks.len()), (0, 0));
}
