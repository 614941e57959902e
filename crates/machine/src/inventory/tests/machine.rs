//! The files of a made-up machine: two sockets of four threads, two nodes, an NVMe disk with two
//! partitions, a network card.

use std::fs;
use std::os::unix::fs::symlink;

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

/// Each CPU with its socket, the threads of its core and the CPUs of its socket.
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

/// Plants the files, and the symbolic links that the machine has besides.
pub(super) fn planted(test: &str) -> Planted {
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
