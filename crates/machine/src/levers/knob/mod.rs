//! Knobs: the places in the kernel that levers set, each of which holds one value.
//!
//! The journal names a knob by its kind and typed parts, so a path in it has no meaning. Only this
//! code decides which file a knob is, or what the kernel is asked for.

mod driver;
mod feature;
mod interrupt;
mod kernel_file;
mod link;
mod names;
mod napi;
mod place;
mod qdisc;
mod quota;
mod route;
mod setting;

use std::io;

use serde::{Deserialize, Serialize};

use super::value::Form;
use crate::tree::Tree;
pub use driver::DriverSetting;
pub use names::{DeviceName, Queue, SysctlName};

pub use crate::routes::RouteKey;
use driver::OfDriver;
use feature::OfDevice;
pub(super) use interrupt::action;
use kernel_file::KernelFile;
use link::OfLink;
use napi::OfNapi;
pub(super) use napi::count as napi_count;
use place::Place;
use qdisc::OfRoot;
pub use quota::{GroupFolder, QuotaFile};
use route::OfRoute;
pub use setting::{
    CpuSetting, DeviceSetting, FeatureName, HostSetting, LinkSetting, QueueSetting, RouteMetric,
};

pub use super::value::Value;

/// A place in the kernel that holds one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Knob {
    /// A file of `/proc/sys`.
    Sysctl(SysctlName),
    /// A file of `/sys` that exists once on a machine.
    Host(HostSetting),
    /// The CPU quota of a control group.
    Quota { group: GroupFolder, file: QuotaFile },
    /// A setting of one CPU.
    Cpu { cpu: u32, setting: CpuSetting },
    /// The CPUs that serve an interrupt, and the drivers that had requested it. Once a driver gives
    /// it up, as when its device is taken down, another may get its number.
    Interrupt {
        number: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<String>,
    },
    /// A setting of a network device.
    Device {
        device: DeviceName,
        setting: DeviceSetting,
    },
    /// A setting of one queue of a network device.
    Queue {
        device: DeviceName,
        queue: Queue,
        setting: QueueSetting,
    },
    /// A number of a network device's driver.
    Driver {
        device: DeviceName,
        setting: DriverSetting,
    },
    /// How long a NAPI, which takes packets from a network device, may keep interrupts off. `nth`
    /// counts the device's NAPIs in the order of their ids, which change when the device is taken
    /// down.
    Napi { device: DeviceName, nth: usize },
    /// A packet size of a network device.
    Link {
        device: DeviceName,
        setting: LinkSetting,
    },
    /// The queue discipline at the root of a network device.
    Qdisc { device: DeviceName },
    /// A metric of a route through a network device.
    Route {
        device: DeviceName,
        route: RouteKey,
        metric: RouteMetric,
    },
    /// Work that a network device does for senders and receivers, on or off.
    Feature {
        device: DeviceName,
        feature: FeatureName,
    },
}

impl Knob {
    /// The sysctl with this name, with dots.
    pub(crate) fn sysctl(name: &str) -> Self {
        let name = name.parse().expect("a catalogue names sysctls that can be");
        Self::Sysctl(name)
    }

    /// Whether each network namespace has its own value; otherwise the machine has one for all.
    pub(crate) fn is_of_a_namespace(&self) -> bool {
        match self {
            Self::Sysctl(name) => name.is_of_a_namespace(),
            other => other.device().is_some(),
        }
    }

    /// Whether it is the number of queues that serve both directions. When that changes, the driver
    /// sets up all queues again, with what is set for each.
    pub(in crate::levers) fn is_of_both_ways(&self) -> bool {
        matches!(self, Self::Driver { setting, .. } if setting.is_of_both_ways())
    }

    /// Whether it belongs to one queue of a device.
    pub(in crate::levers) fn is_of_a_queue(&self) -> bool {
        matches!(self, Self::Queue { .. } | Self::Interrupt { .. })
    }

    /// The network device that it belongs to.
    pub(crate) fn device(&self) -> Option<&DeviceName> {
        match self {
            Self::Device { device, .. }
            | Self::Queue { device, .. }
            | Self::Driver { device, .. }
            | Self::Napi { device, .. }
            | Self::Feature { device, .. }
            | Self::Link { device, .. }
            | Self::Qdisc { device }
            | Self::Route { device, .. } => Some(device),
            Self::Sysctl(_)
            | Self::Host(_)
            | Self::Quota { .. }
            | Self::Cpu { .. }
            | Self::Interrupt { .. } => None,
        }
    }

    /// This knob on another device, or under its device's new name.
    pub(crate) fn of_device(mut self, name: DeviceName) -> Self {
        if let Self::Device { device, .. }
        | Self::Queue { device, .. }
        | Self::Driver { device, .. }
        | Self::Napi { device, .. }
        | Self::Feature { device, .. }
        | Self::Link { device, .. }
        | Self::Qdisc { device }
        | Self::Route { device, .. } = &mut self
        {
            *device = name;
        }
        self
    }

    /// Whether the kernel may replace a number by another one near it, as drivers round.
    pub(crate) fn is_rounded(&self) -> bool {
        matches!(self, Self::Driver { setting, .. } if setting.is_rounded())
    }

    /// The value that it holds now.
    ///
    /// # Errors
    /// `NotFound` where this machine has no such knob; `InvalidData` for a text that is not in the
    /// known form.
    pub(crate) fn read(&self, tree: &Tree) -> io::Result<Value> {
        self.place().read(tree)
    }

    /// Sets the value.
    ///
    /// # Errors
    /// What the kernel refused.
    pub(crate) fn write(&self, tree: &Tree, value: &Value) -> io::Result<()> {
        let written = self.place().write(tree, value);
        match self {
            Self::Interrupt { .. } => written.map_err(interrupt::with_who_chooses),
            _ => written,
        }
    }

    /// Checks whether this process may write it.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn may_write(&self, tree: &Tree) -> io::Result<()> {
        self.place().may_write(tree)
    }

    /// The largest value, where the kernel reports one.
    pub(crate) fn most(&self, tree: &Tree) -> Option<i64> {
        self.place().most(tree)
    }

    /// What an undo would not restore, as things stand now; `None` where it restores everything.
    pub(crate) fn lost_for_good(&self, tree: &Tree) -> Option<String> {
        match self {
            Self::Qdisc { device } => OfRoot { device }.lost_for_good(tree),
            _ => self.part_of_its_own(None, tree),
        }
    }

    /// Describes a part of the knob that has a value of its own, other than `wanted`; `None` where
    /// there is none.
    pub(crate) fn part_of_its_own(&self, wanted: Option<&Value>, tree: &Tree) -> Option<String> {
        match self {
            Self::Device { device, setting } => napi::of_its_own(device, *setting, wanted, tree),
            _ => None,
        }
    }

    /// The knob that the kernel moves along with this one.
    pub(crate) fn follower(&self) -> Option<Self> {
        match self {
            Self::Host(setting) => setting.follower.as_deref().map(Self::sysctl),
            _ => None,
        }
    }

    /// The present owner, where it is not the one that was recorded. `None` where the owner is the
    /// same, there is none, or it cannot be known.
    pub(crate) fn changed_hands(&self, tree: &Tree) -> Option<String> {
        match self {
            Self::Interrupt {
                number,
                action: Some(before),
            } => self::action(tree, *number).filter(|now| !interrupt::is_shared(before, now)),
            _ => None,
        }
    }

    /// Whether it can vanish together with its value, as a device, an interrupt or a control group
    /// can.
    pub(crate) fn can_go(&self) -> bool {
        self.device().is_some() || matches!(self, Self::Interrupt { .. } | Self::Quota { .. })
    }

    /// The command that a person would type to set it.
    pub fn command(&self, value: &Value) -> String {
        self.place().command(value)
    }

    /// The value as a person reads it.
    pub fn show(&self, value: &Value) -> String {
        self.place().form().show(value)
    }

    /// The value in the form that the kernel accepts.
    pub(crate) fn written(&self, value: &Value) -> String {
        self.place().form().print(value)
    }

    /// Parses a value that a person typed.
    pub(crate) fn parse_typed(&self, text: &str) -> Option<Value> {
        self.place().form().parse_typed(text)
    }

    fn place(&self) -> Box<dyn Place + '_> {
        let file = |file, form| Box::new(KernelFile { file, form });
        match self {
            Self::Sysctl(name) => file(name.file(), name.form()),
            Self::Host(setting) => file(setting.word().to_owned(), setting.form),
            Self::Quota { group, file: kind } => file(group.file(*kind), kind.form()),
            Self::Cpu { cpu, setting } => {
                let path = format!("sys/devices/system/cpu/cpu{cpu}/{}", setting.word());
                file(path, setting.form)
            }
            Self::Interrupt { number, .. } => file(
                format!("proc/irq/{number}/smp_affinity_list"),
                Form::CpuList,
            ),
            Self::Device { device, setting } => {
                let path = format!("sys/class/net/{device}/{}", setting.word());
                file(path, setting.form)
            }
            Self::Queue {
                device,
                queue,
                setting,
            } => {
                let path = format!("sys/class/net/{device}/queues/{queue}/{}", setting.word());
                file(path, setting.form)
            }
            Self::Driver { device, setting } => Box::new(OfDriver {
                device,
                setting: *setting,
            }),
            Self::Napi { device, nth } => Box::new(OfNapi { device, nth: *nth }),
            Self::Link { device, setting } => Box::new(OfLink {
                device,
                setting: *setting,
            }),
            Self::Qdisc { device } => Box::new(OfRoot { device }),
            Self::Route {
                device,
                route,
                metric,
            } => Box::new(OfRoute {
                device,
                route: *route,
                metric: *metric,
            }),
            Self::Feature { device, feature } => Box::new(OfDevice {
                device,
                feature: *feature,
            }),
        }
    }
}

impl std::fmt::Display for Knob {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.place().fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_would_type_is_told() {
        let sysctl = Knob::sysctl("net.ipv4.tcp_rmem");
        let value = Value::Numbers(vec![4096, 131_072, 6_291_456]);
        let command = "sysctl -w net.ipv4.tcp_rmem='4096 131072 6291456'";
        assert_eq!(sysctl.command(&value), command);
        let mask = Knob::Queue {
            device: "eth0".parse().unwrap(),
            queue: Queue::Rx(0),
            setting: "rps_cpus".parse().unwrap(),
        };
        let command = "echo 00000003 > /sys/class/net/eth0/queues/rx-0/rps_cpus";
        assert_eq!(mask.command(&Value::Numbers(vec![0, 1])), command);
        assert_eq!(mask.show(&Value::Numbers(vec![0, 1])), "0-1");
    }

    #[test]
    fn a_device_whose_name_a_shell_would_take_apart_is_quoted() {
        let knob = Knob::Device {
            device: "a;reboot".parse().unwrap(),
            setting: "mtu".parse().unwrap(),
        };
        let command = "echo 1500 > '/sys/class/net/a;reboot/mtu'";
        assert_eq!(knob.command(&Value::Number(1500)), command);
    }

    #[test]
    fn a_journal_can_name_no_file() {
        let foreign = [
            r#"{"sysctl":"../../etc/passwd"}"#,
            r#"{"sysctl":"net.ipv4/../x"}"#,
            r#"{"file":"/etc/passwd"}"#,
            r#"{"device":{"device":"../../x","setting":"mtu"}}"#,
            r#"{"device":{"device":"eth0","setting":"../mtu"}}"#,
            r#"{"queue":{"device":"eth0","queue":"rx-0/..","setting":"rps_cpus"}}"#,
            r#"{"driver":{"device":"eth0","setting":"flash"}}"#,
            r#"{"feature":{"device":"eth0","feature":"rx-all"}}"#,
            r#"{"qdisc":{"device":"eth0/x"}}"#,
            r#"{"link":{"device":"eth0","setting":"address"}}"#,
            r#"{"interrupt":{"number":"../24"}}"#,
            r#"{"napi":{"device":"eth0","nth":-1}}"#,
            r#"{"quota":{"group":"cpu/../../kernel","file":"cpu.max"}}"#,
            r#"{"quota":{"group":"/etc","file":"cpu.max"}}"#,
            r#"{"quota":{"group":"jobs","file":"cgroup.kill"}}"#,
        ];
        for text in foreign {
            assert!(serde_json::from_str::<Knob>(text).is_err(), "{text}");
        }
        let ours = [
            r#"{"queue":{"device":"eth0","queue":"tx-1","setting":"xps_cpus"}}"#,
            r#"{"driver":{"device":"eth0","setting":"rx-usecs"}}"#,
            r#"{"interrupt":{"number":24}}"#,
            r#"{"napi":{"device":"eth0","nth":1}}"#,
            r#"{"quota":{"group":"system.slice/a.service","file":"cpu.max"}}"#,
            r#"{"interrupt":{"number":24,"action":"eth0-rx-0"}}"#,
            r#"{"feature":{"device":"eth0","feature":"tx-tcp6-segmentation"}}"#,
        ];
        for text in ours {
            let knob: Knob = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&knob).unwrap(), text);
        }
    }
}
