//! The page of a machine that was made up: two sockets of four threads, two nodes, an NVMe disk
//! with two partitions, a network card.

use std::fs;
use std::os::unix::fs::symlink;

use model::inventory::{Availability, Hidden};

use super::*;
use crate::links::Device;
use crate::tree::planted::Planted;

const CPU: &str = "sys/devices/system/cpu";
const NVME: &str = "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
const CARD: &str = "sys/bus/pci/devices/0000:81:00.0";
const CPUINFO: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n\
                       model name\t: Intel(R) Xeon(R) Gold 6430\nstepping\t: 8\nflags\t\t: fpu aes avx2\n";
const MOUNTS: &str = "30 1 259:2 / / rw - ext4 /dev/nvme0n1p2 rw\n\
                      31 30 259:1 / /boot/efi rw - vfat /dev/nvme0n1p1 rw\n\
                      32 30 259:2 / /srv/planted-customer rw - ext4 /dev/nvme0n1p2 rw\n";
const KALLSYMS: &str = "0000000000000000 t fq_enqueue\n0000000000000000 T tls_sw_recvmsg\t[tls]\n";

/// CPU, socket, threads of its core, CPUs of its socket.
const CPUS: [(u32, u32, &str, &str); 8] = [
    (0, 0, "0,4", "0-1,4-5"),
    (1, 0, "1,5", "0-1,4-5"),
    (2, 1, "2,6", "2-3,6-7"),
    (3, 1, "3,7", "2-3,6-7"),
    (4, 0, "0,4", "0-1,4-5"),
    (5, 0, "1,5", "0-1,4-5"),
    (6, 1, "2,6", "2-3,6-7"),
    (7, 1, "3,7", "2-3,6-7"),
];

fn files() -> Vec<(String, String)> {
    let mut files: Vec<_> = FILES
        .iter()
        .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()))
        .collect();
    for (cpu, socket, core, package) in CPUS {
        let mut add = |file: &str, text: &str| {
            files.push((format!("{CPU}/cpu{cpu}/{file}"), format!("{text}\n")));
        };
        add("topology/physical_package_id", &socket.to_string());
        add("topology/thread_siblings_list", core);
        for (index, level, kind, size, shared) in [
            (0, "1", "Data", "48K", core),
            (1, "1", "Instruction", "32K", core),
            (2, "2", "Unified", "2048K", core),
            (3, "3", "Unified", "61440K", package),
        ] {
            add(&format!("cache/index{index}/level"), level);
            add(&format!("cache/index{index}/type"), kind);
            add(&format!("cache/index{index}/size"), size);
            add(&format!("cache/index{index}/shared_cpu_list"), shared);
        }
    }
    files
}

const FILES: [(&str, &str); 61] = [
    ("proc/cpuinfo", CPUINFO),
    (
        "proc/meminfo",
        "MemTotal: 263000000 kB\nMemAvailable: 250000000 kB\nSwapTotal: 0 kB\n",
    ),
    ("proc/self/mountinfo", MOUNTS),
    ("proc/self/cgroup", "0::/user.slice\n"),
    (
        "proc/self/limits",
        "Max open files            1024                 524288               files     \nMax locked memory         unlimited            unlimited            bytes     \n",
    ),
    (
        "proc/self/status",
        "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000003000\n",
    ),
    (
        "proc/pressure/cpu",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    ),
    ("proc/modules", "tls 150000 0 - Live 0x0\n"),
    ("proc/kallsyms", KALLSYMS),
    (
        "proc/cmdline",
        "BOOT_IMAGE=/vmlinuz root=UUID=planted isolcpus=2-3 password=planted mitigations=off\n",
    ),
    ("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
    (
        "proc/sys/kernel/version",
        "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1\n",
    ),
    ("proc/sys/kernel/perf_event_paranoid", "3\n"),
    ("proc/sys/net/core/default_qdisc", "fq_codel\n"),
    ("proc/sys/net/core/somaxconn", "4096\n"),
    (
        "proc/sys/net/ipv4/tcp_available_congestion_control",
        "reno cubic bbr\n",
    ),
    ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
    (
        "lib/modules/6.1.0-18-amd64/modules.builtin",
        "kernel/net/sched/sch_fifo.ko\n",
    ),
    (
        "lib/modules/6.1.0-18-amd64/modules.dep",
        "kernel/net/sched/sch_netem.ko.xz:\nkernel/drivers/net/tun.ko.xz:\n",
    ),
    ("sys/kernel/security/lsm", "lockdown,capability,apparmor\n"),
    (
        "sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n",
    ),
    (
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
        "512\n",
    ),
    (
        "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
        "500\n",
    ),
    ("sys/devices/system/cpu/online", "0-7\n"),
    ("sys/devices/system/cpu/offline", "\n"),
    ("sys/devices/system/cpu/isolated", "2-3\n"),
    ("sys/devices/system/cpu/smt/control", "on\n"),
    (
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
        "intel_pstate\n",
    ),
    (
        "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq",
        "800000\n",
    ),
    (
        "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
        "3400000\n",
    ),
    ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1\n"),
    ("sys/devices/system/memory/block_size_bytes", "8000000\n"),
    ("sys/devices/system/memory/memory0/state", "online\n"),
    ("sys/devices/system/memory/memory1/state", "offline\n"),
    ("sys/devices/system/node/node0/cpulist", "0-1,4-5\n"),
    ("sys/devices/system/node/node0/distance", "10 21\n"),
    (
        "sys/devices/system/node/node0/meminfo",
        "Node 0 MemTotal:       131000000 kB\n",
    ),
    ("sys/devices/system/node/node1/cpulist", "2-3,6-7\n"),
    ("sys/devices/system/node/node1/distance", "21 10\n"),
    (
        "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/size",
        "1000215216\n",
    ),
    (
        "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/dev",
        "259:0\n",
    ),
    (
        "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/ro",
        "0\n",
    ),
    (
        "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/serial",
        "planted-serial\n",
    ),
    (
        "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/queue/rotational",
        "0\n",
    ),
    (
        "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/queue/scheduler",
        "[none] mq-deadline\n",
    ),
    (
        "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/queue/nr_requests",
        "1023\n",
    ),
    (
        "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p2/size",
        "998115328\n",
    ),
    (
        "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p2/dev",
        "259:2\n",
    ),
    (
        "sys/devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p2/partition",
        "2\n",
    ),
    ("sys/bus/pci/devices/0000:81:00.0/class", "0x020000\n"),
    ("sys/bus/pci/devices/0000:81:00.0/vendor", "0x15b3\n"),
    ("sys/bus/pci/devices/0000:81:00.0/device", "0x101d\n"),
    ("sys/bus/pci/devices/0000:81:00.0/numa_node", "1\n"),
    (
        "sys/bus/pci/devices/0000:81:00.0/current_link_speed",
        "16.0 GT/s PCIe\n",
    ),
    ("sys/bus/pci/devices/0000:81:00.0/current_link_width", "8\n"),
    ("sys/bus/usb/devices/1-1/busnum", "1\n"),
    ("sys/bus/usb/devices/1-1/devnum", "2\n"),
    ("sys/class/net/enp129s0f0np0/ifindex", "2\n"),
    ("sys/class/net/enp129s0f0np0/address", "00:00:5e:00:53:01\n"),
    ("sys/class/net/enp129s0f0np0/speed", "100000\n"),
];

/// With the links that a file cannot be.
fn planted(test: &str) -> Planted {
    let files = files();
    let files: Vec<_> = files
        .iter()
        .map(|(file, text)| (file.as_str(), text.as_str()))
        .collect();
    let planted = Planted::new(test, &files);
    let path = |file: &str| planted.tree.path(file);
    fs::create_dir_all(path("sys/class/block")).unwrap();
    symlink(path(NVME), path("sys/class/block/nvme0n1")).unwrap();
    symlink(
        path(&format!("{NVME}/nvme0n1p2")),
        path("sys/class/block/nvme0n1p2"),
    )
    .unwrap();
    symlink("../../drivers/mlx5_core", path(&format!("{CARD}/driver"))).unwrap();
    planted
}

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
fn a_disk_has_its_parts_and_unusual_mount_points_and_serials_stay_untold() {
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
fn parts_of_the_kernel_are_told_apart_and_its_secrets_are_not_told() {
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
    assert_eq!(permissions.settings[0].meaning, "perf events are for root");
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
