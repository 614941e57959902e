//! What a machine has, on one page: more than the facts that a run keeps, and as much an
//! allow-list. Names, addresses and serial numbers have fields of their own, which are filled only
//! when they were asked for.

use serde::Serialize;

use crate::Facts;

/// The version of the shape of `linerate facts --json`.
pub const INVENTORY_FORMAT: u32 = 1;

/// One machine as it was seen by one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Inventory {
    pub format: u32,
    /// What a run keeps.
    pub facts: Facts,
    pub cpu: Cpu,
    pub memory: Memory,
    pub disks: Vec<Disk>,
    pub pci: Vec<PciDevice>,
    pub usb: Vec<UsbDevice>,
    pub links: Vec<Link>,
    pub network: Network,
    pub kernel: Kernel,
    pub control_group: ControlGroup,
    pub limits: Limits,
    pub permissions: Permissions,
    /// What could not be seen.
    pub hidden: Vec<Hidden>,
}

/// Something that could not be seen, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Hidden {
    pub what: String,
    /// The file or call, and its errno.
    pub why: String,
}

/// The processors, as `lscpu` tells of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cpu {
    pub vendor: Option<String>,
    pub family: Option<u32>,
    pub model_number: Option<u32>,
    pub stepping: Option<u32>,
    /// Lists such as "0-3,8".
    pub online: Option<String>,
    pub offline: Option<String>,
    pub isolated: Option<String>,
    pub sockets: u32,
    pub cores_per_socket: u32,
    pub threads_per_core: u32,
    /// The kernel's word on simultaneous multithreading, such as "on" or "notsupported".
    pub smt: Option<String>,
    pub caches: Vec<Cache>,
    pub frequency_driver: Option<String>,
    pub min_mhz: Option<f64>,
    pub max_mhz: Option<f64>,
    pub idle_driver: Option<String>,
    pub idle_states: Vec<String>,
    pub available_clocksources: Vec<String>,
    pub flags: Vec<String>,
}

/// All caches of one level and type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// As `lscpu` names it: L1d, L1i, L2, L3.
    pub name: String,
    /// Of one of them.
    pub size_bytes: u64,
    pub instances: u32,
}

/// Memory, as `free`, `lsmem` and `numactl --hardware` tell of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    pub available_bytes: Option<u64>,
    pub swap_bytes: Option<u64>,
    pub swappiness: Option<u32>,
    pub block_bytes: Option<u64>,
    pub online_bytes: Option<u64>,
    pub transparent_huge_pages: Option<String>,
    pub huge_pages: Vec<HugePages>,
    pub nodes: Vec<NumaNode>,
}

/// The reserved huge pages of one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HugePages {
    pub size_bytes: u64,
    pub total: u64,
    pub free: u64,
}

/// One node of memory with the CPUs near it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NumaNode {
    pub node: u32,
    pub cpus: String,
    pub memory_bytes: Option<u64>,
    /// To each node in order; 10 is the node itself.
    pub distances: Vec<u32>,
}

/// A block device, as `lsblk` tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Disk {
    pub name: String,
    /// The device it is a part of.
    pub part_of: Option<String>,
    pub size_bytes: u64,
    pub model: Option<String>,
    pub is_rotational: Option<bool>,
    pub is_read_only: Option<bool>,
    pub is_removable: Option<bool>,
    pub scheduler: Option<String>,
    pub logical_block_bytes: Option<u32>,
    pub physical_block_bytes: Option<u32>,
    pub queue_requests: Option<u32>,
    /// Where it is mounted; folders beside the usual ones only when identity was asked for.
    pub mount_points: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}

/// A device of the PCI bus, as `lspci` tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PciDevice {
    /// Domain, bus, device and function, such as 0000:00:03.0.
    pub slot: String,
    /// Class and subclass, four hexadecimal digits.
    pub class: String,
    pub class_name: String,
    /// Four hexadecimal digits each.
    pub vendor: String,
    pub device: String,
    /// Where a list of names is installed.
    pub vendor_name: Option<String>,
    pub device_name: Option<String>,
    pub driver: Option<String>,
    pub numa_node: Option<u32>,
    /// Such as "8.0 GT/s PCIe ×4", of the link as it is.
    pub link: Option<String>,
}

/// A device of the USB, as `lsusb` tells of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UsbDevice {
    pub bus: u32,
    pub number: u32,
    /// Four hexadecimal digits each.
    pub vendor: String,
    pub product: String,
    pub class_name: String,
    pub speed_mbit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}

/// A network device, as `ip link` and `ethtool` tell of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Link {
    pub index: u32,
    /// Its name, if it is one that the kernel or systemd gives by rule; else a substitute, unless
    /// identity was asked for.
    pub name: String,
    /// Such as loopback, ether, or the kind of a virtual device.
    pub kind: String,
    pub flags: Vec<String>,
    /// Such as UP, DOWN or UNKNOWN.
    pub state: String,
    pub mtu: u32,
    pub qdisc: Option<String>,
    pub transmit_queue_packets: Option<u32>,
    pub receive_queues: u32,
    pub transmit_queues: u32,
    pub speed_mbit: Option<u32>,
    pub duplex: Option<String>,
    pub numa_node: Option<u32>,
    /// Number of the BPF program that sees each packet first, of those attached as XDP.
    pub xdp_program: Option<u32>,
    pub driver: Option<String>,
    pub bus: Option<String>,
    pub rings: Option<Rings>,
    pub channels: Option<Channels>,
    pub coalescing: Option<Coalescing>,
    pub features: Vec<Feature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
}

/// Descriptors of the receive and transmit rings: as set, and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rings {
    pub receive: u32,
    pub receive_most: u32,
    pub transmit: u32,
    pub transmit_most: u32,
}

/// Queues with an interrupt of their own: as set, and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Channels {
    pub receive: u32,
    pub transmit: u32,
    pub combined: u32,
    pub combined_most: u32,
}

/// How long interrupts are held back to be sent together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coalescing {
    pub receive_us: u32,
    pub receive_frames: u32,
    pub transmit_us: u32,
    pub transmit_frames: u32,
    pub is_adaptive_receive: bool,
    pub is_adaptive_transmit: bool,
}

/// Something that the device, or the kernel for it, can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// The kernel's name for it, such as tx-tcp-segmentation.
    pub name: String,
    pub is_on: bool,
    pub can_change: bool,
}

/// What new sockets and devices get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Network {
    pub available_congestion_controls: Vec<String>,
    pub default_qdisc: Option<String>,
    pub listen_backlog_most: Option<u32>,
    pub device_backlog_packets: Option<u32>,
    pub local_ports: Option<String>,
    /// Least, default and most, in bytes.
    pub receive_buffer_bytes: Option<String>,
    pub send_buffer_bytes: Option<String>,
    pub busy_poll_us: Option<u32>,
}

/// What the kernel can do and how it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// How it lets tasks interrupt one another, such as PREEMPT_DYNAMIC.
    pub preemption: Option<String>,
    /// Options of its command line that bear on speed.
    pub boot_options: Vec<String>,
    pub security_modules: Vec<String>,
    pub parts: Vec<Part>,
}

/// A part of the kernel, and whether it can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    pub name: String,
    pub state: Availability,
    /// What shows it.
    pub evidence: String,
}

/// Whether a part of the kernel can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    Present,
    /// A module that is not loaded.
    Loadable,
    /// There, and forbidden to this process.
    Forbidden,
    Absent,
    Unknown,
}

/// What the control group of this process grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ControlGroup {
    /// 1 or 2, of the hierarchy that limits CPU time.
    pub version: Option<u32>,
    pub cpus: Option<String>,
    pub memory_bytes: Option<u64>,
}

/// How much of something may be had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    pub process: Vec<ProcessLimit>,
    /// Of the machine.
    pub open_files: Option<u64>,
    pub processes: Option<u64>,
    pub threads: Option<u64>,
    pub memory_maps: Option<u64>,
}

/// A limit of this process, as `ulimit` tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProcessLimit {
    pub name: String,
    pub unit: String,
    /// `None` is unlimited.
    pub soft: Option<u64>,
    pub hard: Option<u64>,
}

/// What this process may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Permissions {
    pub is_root: bool,
    /// Those that bear on measuring, such as net_admin.
    pub capabilities: Vec<String>,
    /// Settings by which the kernel grants or refuses, with what they say.
    pub settings: Vec<Setting>,
}

/// A setting of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// As `sysctl` names it.
    pub name: String,
    pub value: String,
    pub meaning: String,
}
