//! The places of the kernel that levers set, each of which holds one value.
//!
//! The journal names them by kind and typed parts, so a path in it has no meaning: which file a
//! knob is, or what the kernel is asked for, only this code says.

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

/// A place that holds one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Knob {
    /// A file of `/proc/sys`.
    Sysctl(SysctlName),
    /// A file of `/sys` of which the machine has one.
    Host(HostSetting),
    /// The CPU quota of a control group.
    Quota { group: GroupFolder, file: QuotaFile },
    /// One for each CPU.
    Cpu { cpu: u32, setting: CpuSetting },
    /// The CPUs that serve an interrupt, and who had asked for it: once he gives it back, as a device
    /// that is taken down does, another may get its number.
    Interrupt {
        number: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<String>,
    },
    /// One for each network device.
    Device {
        device: DeviceName,
        setting: DeviceSetting,
    },
    /// One for each queue of a network device.
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
    /// How long the interrupts of one that takes a device's packets may stay off: which of them, in
    /// the order of their ids, which a device that is taken down gives anew.
    Napi { device: DeviceName, nth: usize },
    /// A size that a network device has.
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
    /// What a network device does for those who send and receive, on or off.
    Feature {
        device: DeviceName,
        feature: FeatureName,
    },
}

impl Knob {
    /// A sysctl by its name, with dots.
    pub(crate) fn sysctl(name: &str) -> Self {
        let name = name.parse().expect("a catalogue names sysctls that can be");
        Self::Sysctl(name)
    }

    /// Whether a network namespace has a value of its own; else the machine has one for all.
    pub(crate) fn is_of_a_namespace(&self) -> bool {
        match self {
            Self::Sysctl(name) => name.is_of_a_namespace(),
            other => other.device().is_some(),
        }
    }

    /// Whether it is how many queues a device has for both ways: the driver sets them up anew with it, and what
    /// is set for each.
    pub(in crate::levers) fn is_of_both_ways(&self) -> bool {
        matches!(self, Self::Driver { setting, .. } if setting.is_of_both_ways())
    }

    /// Whether it is of one queue of a device.
    pub(in crate::levers) fn is_of_a_queue(&self) -> bool {
        matches!(self, Self::Queue { .. } | Self::Interrupt { .. })
    }

    /// The network device that it is of.
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

    /// This knob of another device, or of its own by another name.
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

    /// Whether a number may be held as another that is near, as drivers round.
    pub(crate) fn is_rounded(&self) -> bool {
        matches!(self, Self::Driver { setting, .. } if setting.is_rounded())
    }

    /// What it holds now.
    ///
    /// # Errors
    /// `NotFound` where this machine has none; `InvalidData` for what is not of the known form.
    pub(crate) fn read(&self, tree: &Tree) -> io::Result<Value> {
        self.place().read(tree)
    }

    /// Sets it.
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

    /// Whether this process may write it.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn may_write(&self, tree: &Tree) -> io::Result<()> {
        self.place().may_write(tree)
    }

    /// The most that it can be, where the kernel says so.
    pub(crate) fn most(&self, tree: &Tree) -> Option<i64> {
        self.place().most(tree)
    }

    /// What its undo would not bring back, as it stands now; `None` where it would.
    pub(crate) fn lost_for_good(&self, tree: &Tree) -> Option<String> {
        match self {
            Self::Qdisc { device } => OfRoot { device }.lost_for_good(tree),
            _ => self.part_of_its_own(None, tree),
        }
    }

    /// A part of what it sets that somebody has set otherwise, and not to what is wanted; in words.
    pub(crate) fn part_of_its_own(&self, wanted: Option<&Value>, tree: &Tree) -> Option<String> {
        match self {
            Self::Device { device, setting } => napi::of_its_own(device, *setting, wanted, tree),
            _ => None,
        }
    }

    /// What the kernel moves along with it.
    pub(crate) fn follower(&self) -> Option<Self> {
        match self {
            Self::Host(setting) => setting.follower.as_deref().map(Self::sysctl),
            _ => None,
        }
    }

    /// Who has it now, where that is another than when it was named; `None` where it has not changed
    /// hands, or nobody has it, or that cannot be told.
    pub(crate) fn changed_hands(&self, tree: &Tree) -> Option<String> {
        match self {
            Self::Interrupt {
                number,
                action: Some(before),
            } => self::action(tree, *number).filter(|now| !interrupt::is_shared(before, now)),
            _ => None,
        }
    }

    /// Whether it is of something that can go, and takes its value along: a device, an interrupt, or a control group.
    pub(crate) fn can_go(&self) -> bool {
        self.device().is_some() || matches!(self, Self::Interrupt { .. } | Self::Quota { .. })
    }

    /// What a person would type to set it.
    pub fn command(&self, value: &Value) -> String {
        self.place().command(value)
    }

    /// The value as a person reads it.
    pub fn show(&self, value: &Value) -> String {
        self.place().form().show(value)
    }

    /// The value as the kernel takes it.
    pub(crate) fn written(&self, value: &Value) -> String {
        self.place().form().print(value)
    }

    /// A value that a person typed.
    pub(crate) fn parse_typed(&self, text: &str) -> Option<Value> {
        self.place().form().parse_typed(text)
    }

    fn place(&self) -> Box<dyn Place + '_> {
        let file = |file, form| Box::new(KernelFile { file, form });
        match self {
            Self::Sysctl(name) => file(name.file(), name.form()),
            Self::Host(setting) => file(setting.word().to_owned(), setting.form),
            Self::Quota { group, file: in_it } => file(group.file(*in_it), in_it.form()),
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
