//! What a machine has, on one page: more than the facts that a run saves, and also an allow-list.
//! Names, addresses and serial numbers have fields of their own, which are filled only when they
//! were asked for.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Facts;

/// The version of the shape of `linerate facts --json`.
pub const INVENTORY_FORMAT: u32 = 1;

/// One machine as one process saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Inventory {
    /// Version of this shape.
    pub format: u32,
    /// The facts that a run saves of its machine.
    pub facts: Facts,
    /// The CPUs, as lscpu reports them.
    pub cpu: Cpu,
    /// Memory, as free and lsmem report it.
    pub memory: Memory,
    /// Block devices and partitions, without empty loop devices.
    pub disks: Vec<Disk>,
    /// Devices of the PCI bus.
    pub pci: Vec<PciDevice>,
    /// Devices of the USB.
    pub usb: Vec<UsbDevice>,
    /// Devices of the network namespace, by number.
    pub links: Vec<Link>,
    /// Settings that new sockets and devices get.
    pub network: Network,
    /// What the kernel can do and how it was started.
    pub kernel: Kernel,
    /// What the control group of the process grants.
    pub control_group: ControlGroup,
    /// Limits on resources such as files and threads.
    pub limits: Limits,
    /// What this process may do.
    pub permissions: Permissions,
    /// What could not be seen, and why.
    pub hidden: Vec<Hidden>,
}

/// Something that could not be seen, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Hidden {
    /// What could not be seen.
    pub what: String,
    /// The file or call, and its errno.
    pub why: String,
}

/// The processors, as `lscpu` reports them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Cpu {
    /// Maker, as CPUID or the implementer's number names it.
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
    /// Cores of the socket with the most cores, count.
    pub cores_per_socket: u32,
    /// Threads of the core with the most threads, count.
    pub threads_per_core: u32,
    /// State of simultaneous multithreading as the kernel names it, such as "on" or "notsupported".
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
    /// Features of the CPUs.
    pub flags: Vec<String>,
}

/// All caches of one level and type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cache {
    /// Name as in `lscpu`: L1d, L1i, L2, L3.
    pub name: String,
    /// Size of one, bytes.
    pub size_bytes: u64,
    /// How many there are, count.
    pub instances: u32,
}

/// Memory, as `free`, `lsmem` and `numactl --hardware` report it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Memory {
    /// Memory that is available without swapping, bytes.
    pub available_bytes: Option<u64>,
    /// Swap space, bytes.
    pub swap_bytes: Option<u64>,
    /// The setting `vm.swappiness`, 0 to 200.
    pub swappiness: Option<u32>,
    /// Unit in which memory is put on line and off line, bytes.
    pub block_bytes: Option<u64>,
    /// Memory that is on line, including holes and the kernel's own, bytes.
    pub online_bytes: Option<u64>,
    /// When the kernel uses huge pages unasked: always, madvise, never.
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
    /// Distance to each node in order; 10 is the node itself.
    pub distances: Vec<u32>,
}

/// A block device, as `lsblk` reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Disk {
    /// The kernel's name.
    pub name: String,
    /// The device that it is a part of.
    pub part_of: Option<String>,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Model, as the device reports it.
    pub model: Option<String>,
    /// Whether it reports that it rotates, as virtual disks often do.
    pub is_rotational: Option<bool>,
    /// Whether it cannot be written.
    pub is_read_only: Option<bool>,
    /// Whether it can be removed.
    pub is_removable: Option<bool>,
    /// I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Smallest block that can be addressed, bytes.
    pub logical_block_bytes: Option<u32>,
    /// Smallest block that is written at once, bytes.
    pub physical_block_bytes: Option<u32>,
    /// Most requests that its queue holds, count.
    pub queue_requests: Option<u32>,
    /// Where it is mounted; folders other than the usual ones only when identity was asked for.
    pub mount_points: Vec<String>,
    /// Serial number, only with --full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
}

/// A device of the PCI bus, as `lspci` reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PciDevice {
    /// Domain, bus, device and function, such as 0000:00:03.0.
    pub slot: String,
    /// Class and subclass, four hexadecimal digits.
    pub class: String,
    /// The class in words.
    pub class_name: String,
    /// Vendor, four hexadecimal digits.
    pub vendor: String,
    /// Device, four hexadecimal digits.
    pub device: String,
    /// Vendor by name, where a list of names is installed.
    pub vendor_name: Option<String>,
    /// Device by name, where a list of names is installed.
    pub device_name: Option<String>,
    /// Driver that is bound to it.
    pub driver: Option<String>,
    /// Node that it is near, number.
    pub numa_node: Option<u32>,
    /// Current speed and width of its link, such as "8.0 GT/s PCIe ×4".
    pub link: Option<String>,
}

/// A device of the USB, as `lsusb` reports it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct UsbDevice {
    /// Bus, number.
    pub bus: u32,
    /// Device on the bus, number.
    pub number: u32,
    /// Vendor, four hexadecimal digits.
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

/// A network device, as `ip link` and `ethtool` report it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Link {
    /// Number that the kernel gives it.
    pub index: u32,
    /// Its name, if it is one that the kernel or systemd gives by rule; otherwise a substitute,
    /// unless identity was asked for.
    pub name: String,
    /// Kind, such as loopback, ether, or the kind of a virtual device.
    pub kind: String,
    /// Flags, as `ip link` writes them.
    pub flags: Vec<String>,
    /// State, such as UP, DOWN or UNKNOWN.
    pub state: String,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// Queueing discipline at its root.
    pub qdisc: Option<String>,
    /// Most packets that wait to be sent, count.
    pub transmit_queue_packets: Option<u32>,
    /// Receive queues, count.
    pub receive_queues: u32,
    /// Transmit queues, count.
    pub transmit_queues: u32,
    /// Speed, Mbit/s.
    pub speed_mbit: Option<u32>,
    /// Duplex mode: full or half.
    pub duplex: Option<String>,
    /// Node that it is near, number.
    pub numa_node: Option<u32>,
    /// Number of the BPF program attached as XDP that sees each packet first.
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
    /// Features of the device, or of the kernel on its behalf.
    pub features: Vec<Feature>,
    /// Hardware address, only with --full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac_address: Option<String>,
}

/// Descriptors of the receive and transmit rings: the current and the largest numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Rings {
    /// Receive descriptors as set, count.
    pub receive: u32,
    /// Most receive descriptors, count.
    pub receive_most: u32,
    /// Transmit descriptors as set, count.
    pub transmit: u32,
    /// Most transmit descriptors, count.
    pub transmit_most: u32,
}

/// Queues with an interrupt of their own: the current and the largest numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Channels {
    /// Queues for receiving only, count.
    pub receive: u32,
    /// Queues for transmitting only, count.
    pub transmit: u32,
    /// Queues for both directions, count.
    pub combined: u32,
    /// Most queues for both directions, count.
    pub combined_most: u32,
}

/// How long interrupts are held back, so that one serves several packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Coalescing {
    /// Longest wait for receive interrupts, µs.
    pub receive_us: u32,
    /// Most received packets per interrupt; 0 if the time decides.
    pub receive_frames: u32,
    /// Longest wait for transmit interrupts, µs.
    pub transmit_us: u32,
    /// Most transmitted packets per interrupt; 0 if the time decides.
    pub transmit_frames: u32,
    /// Whether the receive times follow the load.
    pub is_adaptive_receive: bool,
    /// Whether the transmit times follow the load.
    pub is_adaptive_transmit: bool,
}

/// A feature of a device, or of the kernel on its behalf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Feature {
    /// The kernel's name for it, such as tx-tcp-segmentation.
    pub name: String,
    /// Whether it is on.
    pub is_on: bool,
    /// Whether it can be switched.
    pub can_change: bool,
}

/// Settings that new sockets and devices get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Network {
    /// TCP congestion controls that are loaded.
    pub available_congestion_controls: Vec<String>,
    /// Queueing discipline of new devices.
    pub default_qdisc: Option<String>,
    /// Most connections that may wait to be accepted, count.
    pub listen_backlog_most: Option<u32>,
    /// Most packets that may wait for a CPU, count.
    pub device_backlog_packets: Option<u32>,
    /// First and last port of outgoing connections.
    pub local_ports: Option<String>,
    /// TCP receive buffer: least, default, most, bytes.
    pub receive_buffer_bytes: Option<String>,
    /// TCP send buffer: least, default, most, bytes.
    pub send_buffer_bytes: Option<String>,
    /// Time for which poll spins for packets, µs.
    pub busy_poll_us: Option<u32>,
}

/// What the kernel can do and how it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Kernel {
    /// Preemption model of the kernel, such as PREEMPT_DYNAMIC.
    pub preemption: Option<String>,
    /// Options of its command line that affect speed.
    pub boot_options: Vec<String>,
    /// Security modules that are consulted at each access.
    pub security_modules: Vec<String>,
    /// Parts of the kernel that measurements may need.
    pub parts: Vec<Part>,
}

/// A part of the kernel, and whether it can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Part {
    /// Name of the part.
    pub name: String,
    /// Whether it can be used: present, a module that is not loaded, present but forbidden to this
    /// process, absent, or not visible.
    pub state: Availability,
    /// The observation that shows it.
    pub evidence: String,
}

/// Whether a part of the kernel can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    Present,
    /// A module that is not loaded.
    Loadable,
    /// Present, but forbidden to this process.
    Forbidden,
    Absent,
    Unknown,
}

/// What the control group of this process grants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ControlGroup {
    /// Version of the hierarchy that limits CPU time, 1 or 2.
    pub version: Option<u32>,
    /// CPUs that it may run on, as a list.
    pub cpus: Option<String>,
    /// Memory that it may use, bytes; null without a limit.
    pub memory_bytes: Option<u64>,
}

/// Limits on resources such as files and threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Limits {
    /// Limits of this process.
    pub process: Vec<ProcessLimit>,
    /// Most open files of the machine, count.
    pub open_files: Option<u64>,
    /// Most processes of the machine, count.
    pub processes: Option<u64>,
    /// Most threads of the machine, count.
    pub threads: Option<u64>,
    /// Most memory maps of a process, count.
    pub memory_maps: Option<u64>,
}

/// A limit of this process, as `ulimit` reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProcessLimit {
    /// Name, as in /proc/PID/limits.
    pub name: String,
    /// Unit of the two limits.
    pub unit: String,
    /// Limit in force; null is unlimited.
    pub soft: Option<u64>,
    /// Limit to which the soft limit may be raised; null is unlimited.
    pub hard: Option<u64>,
}

/// What this process may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Permissions {
    /// Whether the effective user is root.
    pub is_root: bool,
    /// Capabilities that matter to measuring, such as net_admin.
    pub capabilities: Vec<String>,
    /// Kernel settings that grant or refuse access, with their values.
    pub settings: Vec<Setting>,
}

/// A setting of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Setting {
    /// Name, as in `sysctl`.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What the value means.
    pub meaning: String,
}
