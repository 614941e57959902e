//! What a machine has, on one page: more than the facts that a run keeps, and as much an
//! allow-list. Names, addresses and serial numbers have fields of their own, which are filled only
//! when they were asked for.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Facts;

/// The version of the shape of `linerate facts --json`.
pub const INVENTORY_FORMAT: u32 = 1;

/// One machine as it was seen by one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Inventory {
    /// Version of this shape.
    pub format: u32,
    /// What a run keeps of its machine.
    pub facts: Facts,
    /// The CPUs, as lscpu tells of them.
    pub cpu: Cpu,
    /// Memory, as free and lsmem tell of it.
    pub memory: Memory,
    /// Block devices and partitions, without empty loop devices.
    pub disks: Vec<Disk>,
    /// Devices of the PCI bus.
    pub pci: Vec<PciDevice>,
    /// Devices of the USB.
    pub usb: Vec<UsbDevice>,
    /// Devices of the network namespace, by number.
    pub links: Vec<Link>,
    /// What new sockets and devices get.
    pub network: Network,
    /// What the kernel can do and how it was started.
    pub kernel: Kernel,
    /// What the control group of the process grants.
    pub control_group: ControlGroup,
    /// How much of something may be had.
    pub limits: Limits,
    /// What this process may do.
    pub permissions: Permissions,
    /// What could not be seen.
    pub hidden: Vec<Hidden>,
}

/// Something that could not be seen, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Hidden {
    /// What it is.
    pub what: String,
    /// The file or call, and its errno.
    pub why: String,
}

/// The processors, as `lscpu` tells of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Cpu {
    /// Maker, as CPUID or the implementer's number has it.
    pub vendor: Option<String>,
    /// Family, number.
    pub family: Option<u32>,
    /// Model, number.
    pub model_number: Option<u32>,
    /// Stepping, number.
    pub stepping: Option<u32>,
    /// CPUs that are online, as a list such as 0-3,8.
    pub online: Option<String>,
    /// CPUs that are offline, as a list.
    pub offline: Option<String>,
    /// CPUs that the scheduler leaves alone, as a list.
    pub isolated: Option<String>,
    /// Sockets, count; 0 where they cannot be seen.
    pub sockets: u32,
    /// Cores of the socket with most, count.
    pub cores_per_socket: u32,
    /// Threads of the core with most, count.
    pub threads_per_core: u32,
    /// The kernel's word on simultaneous multithreading, such as "on" or "notsupported".
    pub smt: Option<String>,
    /// Caches by level and type.
    pub caches: Vec<Cache>,
    /// Driver that sets the frequency.
    pub frequency_driver: Option<String>,
    /// Lowest frequency of CPU 0, MHz.
    pub min_mhz: Option<f64>,
    /// Highest frequency of CPU 0, MHz.
    pub max_mhz: Option<f64>,
    /// Driver of the idle states.
    pub idle_driver: Option<String>,
    /// Idle states of CPU 0, the shallowest first.
    pub idle_states: Vec<String>,
    /// Clocksources that the kernel could use.
    pub available_clocksources: Vec<String>,
    /// What the CPUs can do.
    pub flags: Vec<String>,
}

/// All caches of one level and type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cache {
    /// As `lscpu` names it: L1d, L1i, L2, L3.
    pub name: String,
    /// Size of one, bytes.
    pub size_bytes: u64,
    /// How many there are, count.
    pub instances: u32,
}

/// Memory, as `free`, `lsmem` and `numactl --hardware` tell of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Memory {
    /// Memory that can be had without swapping, bytes.
    pub available_bytes: Option<u64>,
    /// Swap space, bytes.
    pub swap_bytes: Option<u64>,
    /// Vm.swappiness, 0 to 200.
    pub swappiness: Option<u32>,
    /// Unit in which memory is put on and off line, bytes.
    pub block_bytes: Option<u64>,
    /// Memory that is on line, holes and the kernel's own included, bytes.
    pub online_bytes: Option<u64>,
    /// When huge pages are made unasked: always, madvise, never.
    pub transparent_huge_pages: Option<String>,
    /// Reserved huge pages by size.
    pub huge_pages: Vec<HugePages>,
    /// NUMA nodes.
    pub nodes: Vec<NumaNode>,
}

/// The reserved huge pages of one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HugePages {
    /// Size of a page, bytes.
    pub size_bytes: u64,
    /// Pages reserved, count.
    pub total: u64,
    /// Pages free, count.
    pub free: u64,
}

/// One node of memory with the CPUs near it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NumaNode {
    /// Number of the node.
    pub node: u32,
    /// Its CPUs, as a list.
    pub cpus: String,
    /// Its memory, bytes.
    pub memory_bytes: Option<u64>,
    /// To each node in order; 10 is the node itself.
    pub distances: Vec<u32>,
}

/// A block device, as `lsblk` tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Disk {
    /// The kernel's name.
    pub name: String,
    /// The device it is a part of.
    pub part_of: Option<String>,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Model, as the device says.
    pub model: Option<String>,
    /// Whether it says that it rotates, as virtual disks often do.
    pub is_rotational: Option<bool>,
    /// Whether it cannot be written.
    pub is_read_only: Option<bool>,
    /// Whether it can be taken out.
    pub is_removable: Option<bool>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Smallest block that can be addressed, bytes.
    pub logical_block_bytes: Option<u32>,
    /// Smallest block that is written at once, bytes.
    pub physical_block_bytes: Option<u32>,
    /// Requests that its queue holds at most, count.
    pub queue_requests: Option<u32>,
    /// Where it is mounted; folders beside the usual ones only when identity was asked for.
    pub mount_points: Vec<String>,
    /// Serial number, only with --full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}

/// A device of the PCI bus, as `lspci` tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PciDevice {
    /// Domain, bus, device and function, such as 0000:00:03.0.
    pub slot: String,
    /// Class and subclass, four hexadecimal digits.
    pub class: String,
    /// The class in words.
    pub class_name: String,
    /// Four hexadecimal digits each.
    pub vendor: String,
    /// Device, four hexadecimal digits.
    pub device: String,
    /// Where a list of names is installed.
    pub vendor_name: Option<String>,
    /// Device by name, where a list of names is installed.
    pub device_name: Option<String>,
    /// Driver that has it.
    pub driver: Option<String>,
    /// Node that it is near, number.
    pub numa_node: Option<u32>,
    /// Such as "8.0 GT/s PCIe ×4", of the link as it is.
    pub link: Option<String>,
}

/// A device of the USB, as `lsusb` tells of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct UsbDevice {
    /// Bus, number.
    pub bus: u32,
    /// Device on the bus, number.
    pub number: u32,
    /// Four hexadecimal digits each.
    pub vendor: String,
    /// Product, four hexadecimal digits.
    pub product: String,
    /// The class in words.
    pub class_name: String,
    /// Speed, Mbit/s.
    pub speed_mbit: Option<f64>,
    /// Serial number, only with --full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}

/// A network device, as `ip link` and `ethtool` tell of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Link {
    /// The kernel's number of it.
    pub index: u32,
    /// Its name, if it is one that the kernel or systemd gives by rule; else a substitute, unless
    /// identity was asked for.
    pub name: String,
    /// Such as loopback, ether, or the kind of a virtual device.
    pub kind: String,
    /// Flags, as ip link writes them.
    pub flags: Vec<String>,
    /// Such as UP, DOWN or UNKNOWN.
    pub state: String,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// Queueing discipline at its root.
    pub qdisc: Option<String>,
    /// Packets that wait to be sent at most, count.
    pub transmit_queue_packets: Option<u32>,
    /// Receive queues, count.
    pub receive_queues: u32,
    /// Transmit queues, count.
    pub transmit_queues: u32,
    /// Speed, Mbit/s.
    pub speed_mbit: Option<u32>,
    /// Full or half.
    pub duplex: Option<String>,
    /// Node that it is near, number.
    pub numa_node: Option<u32>,
    /// Number of the BPF program that sees each packet first, of those attached as XDP.
    pub xdp_program: Option<u32>,
    /// Driver.
    pub driver: Option<String>,
    /// Its slot on the bus.
    pub bus: Option<String>,
    /// Descriptors of its rings.
    pub rings: Option<Rings>,
    /// Queues with an interrupt of their own.
    pub channels: Option<Channels>,
    /// How interrupts are held back.
    pub coalescing: Option<Coalescing>,
    /// What it, or the kernel for it, can do.
    pub features: Vec<Feature>,
    /// Hardware address, only with --full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
}

/// Descriptors of the receive and transmit rings: as set, and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rings {
    /// Receive, as set, count.
    pub receive: u32,
    /// Receive, at most, count.
    pub receive_most: u32,
    /// Transmit, as set, count.
    pub transmit: u32,
    /// Transmit, at most, count.
    pub transmit_most: u32,
}

/// Queues with an interrupt of their own: as set, and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Channels {
    /// Receive only, count.
    pub receive: u32,
    /// Transmit only, count.
    pub transmit: u32,
    /// Both ways, count.
    pub combined: u32,
    /// Both ways, at most, count.
    pub combined_most: u32,
}

/// How long interrupts are held back to be sent together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Coalescing {
    /// Receive, µs.
    pub receive_us: u32,
    /// Receive, packets; 0 where the time decides.
    pub receive_frames: u32,
    /// Transmit, µs.
    pub transmit_us: u32,
    /// Transmit, packets; 0 where the time decides.
    pub transmit_frames: u32,
    /// Whether the receive times follow the load.
    pub is_adaptive_receive: bool,
    /// Whether the transmit times follow the load.
    pub is_adaptive_transmit: bool,
}

/// Something that the device, or the kernel for it, can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Feature {
    /// The kernel's name for it, such as tx-tcp-segmentation.
    pub name: String,
    /// Whether it is on.
    pub is_on: bool,
    /// Whether it can be switched.
    pub can_change: bool,
}

/// What new sockets and devices get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Network {
    /// TCP congestion controls that are loaded.
    pub available_congestion_controls: Vec<String>,
    /// Queueing discipline of new devices.
    pub default_qdisc: Option<String>,
    /// Connections that may wait to be accepted at most, count.
    pub listen_backlog_most: Option<u32>,
    /// Packets that may wait for a CPU at most, count.
    pub device_backlog_packets: Option<u32>,
    /// First and last port of outgoing connections.
    pub local_ports: Option<String>,
    /// TCP receive buffer: least, default, most, bytes.
    pub receive_buffer_bytes: Option<String>,
    /// TCP send buffer: least, default, most, bytes.
    pub send_buffer_bytes: Option<String>,
    /// Time that poll spins for packets, µs.
    pub busy_poll_us: Option<u32>,
}

/// What the kernel can do and how it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Kernel {
    /// How it lets tasks interrupt one another, such as PREEMPT_DYNAMIC.
    pub preemption: Option<String>,
    /// Options of its command line that bear on speed.
    pub boot_options: Vec<String>,
    /// Security modules that are asked for each access.
    pub security_modules: Vec<String>,
    /// Parts that measurements may want.
    pub parts: Vec<Part>,
}

/// A part of the kernel, and whether it can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Part {
    /// Name.
    pub name: String,
    /// Whether it can be used: there, a module that is not loaded, there but refused to this
    /// process, not there, or not to be seen.
    pub state: Availability,
    /// What shows it.
    pub evidence: String,
}

/// Whether a part of the kernel can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ControlGroup {
    /// 1 or 2, of the hierarchy that limits CPU time.
    pub version: Option<u32>,
    /// CPUs that it may run on, as a list.
    pub cpus: Option<String>,
    /// Memory that it may use, bytes; null without a limit.
    pub memory_bytes: Option<u64>,
}

/// How much of something may be had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Limits {
    /// Of this process.
    pub process: Vec<ProcessLimit>,
    /// Open files of the machine, count.
    pub open_files: Option<u64>,
    /// Processes of the machine, count.
    pub processes: Option<u64>,
    /// Threads of the machine, count.
    pub threads: Option<u64>,
    /// Memory maps of a process, count.
    pub memory_maps: Option<u64>,
}

/// A limit of this process, as `ulimit` tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProcessLimit {
    /// Name, as /proc/PID/limits has it.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// As it is; null is unlimited.
    pub soft: Option<u64>,
    /// What it may be raised to; null is unlimited.
    pub hard: Option<u64>,
}

/// What this process may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Permissions {
    /// Whether the effective user is root.
    pub is_root: bool,
    /// Those that bear on measuring, such as net_admin.
    pub capabilities: Vec<String>,
    /// Settings by which the kernel grants or refuses, with what they say.
    pub settings: Vec<Setting>,
}

/// A setting of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Setting {
    /// As `sysctl` names it.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What the value means.
    pub meaning: String,
}
