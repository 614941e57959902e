//! The places of the kernel that levers set, each of which holds one value.
//!
//! The journal names them by kind and typed parts, so a path in it has no meaning: which file a
//! knob is, only this code says.

mod file;
mod names;

use std::io;

use serde::{Deserialize, Serialize};

use super::value::Form;
use crate::tree::Tree;
pub use file::{CpuSetting, DeviceSetting, HostSetting, QueueSetting};
pub use names::{DeviceName, Queue, SysctlName};

pub use super::value::Value;

/// A place that holds one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Knob {
    /// A file of `/proc/sys`.
    Sysctl(SysctlName),
    /// A file of `/sys` of which the machine has one.
    Host(HostSetting),
    /// One for each CPU.
    Cpu { cpu: u32, setting: CpuSetting },
    /// The CPUs that serve an interrupt.
    Interrupt { number: u32 },
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
}

/// What shares the value of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A network namespace: another has a value of its own.
    Namespace,
    Host,
}

impl Knob {
    /// A sysctl by its name, with dots.
    pub(crate) fn sysctl(name: &'static str) -> Self {
        let name = name.parse().expect("a catalogue names sysctls that can be");
        Self::Sysctl(name)
    }

    pub(crate) fn reach(&self) -> Reach {
        match self {
            Self::Sysctl(name) if name.is_of_a_namespace() => Reach::Namespace,
            Self::Device { .. } | Self::Queue { .. } => Reach::Namespace,
            Self::Sysctl(_) | Self::Host(_) | Self::Cpu { .. } | Self::Interrupt { .. } => {
                Reach::Host
            }
        }
    }

    /// The network device that it is of.
    pub(crate) fn device(&self) -> Option<&DeviceName> {
        match self {
            Self::Device { device, .. } | Self::Queue { device, .. } => Some(device),
            Self::Sysctl(_) | Self::Host(_) | Self::Cpu { .. } | Self::Interrupt { .. } => None,
        }
    }

    /// The same of another device, or of the same by another name.
    pub(crate) fn of_device(mut self, name: DeviceName) -> Self {
        if let Self::Device { device, .. } | Self::Queue { device, .. } = &mut self {
            *device = name;
        }
        self
    }

    /// What it holds now.
    ///
    /// # Errors
    /// Those of reading the file; `InvalidData` for a text that is not of the known form.
    pub(crate) fn read(&self, tree: &Tree) -> io::Result<Value> {
        let text = tree.try_text(&self.file())?;
        self.form().parse(&text).ok_or_else(|| {
            let text = text.trim();
            let words = format!("`{text}` is not what this file is known to hold");
            io::Error::new(io::ErrorKind::InvalidData, words)
        })
    }

    /// Sets it.
    ///
    /// # Errors
    /// What the kernel refused.
    pub(crate) fn write(&self, tree: &Tree, value: &Value) -> io::Result<()> {
        // Kernel files are opened, never made: one that is not there stays so.
        let mut file = std::fs::File::options()
            .write(true)
            .open(tree.path(&self.file()))?;
        io::Write::write_all(&mut file, self.form().print(value).as_bytes())
    }

    /// Whether this process may open it for writing.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn may_write(&self, tree: &Tree) -> io::Result<()> {
        let path = tree.path(&self.file());
        std::fs::File::options().write(true).open(path).map(drop)
    }

    /// What a person would type to set it.
    #[must_use]
    pub fn command(&self, value: &Value) -> String {
        let text = self.form().print(value);
        let text = shell_words::quote(&text);
        match self {
            Self::Sysctl(name) => format!("sysctl -w {name}={text}"),
            knob => format!("echo {text} > {}", shell_words::quote(&knob.to_string())),
        }
    }

    /// The value as a person reads it.
    #[must_use]
    pub fn show(&self, value: &Value) -> String {
        self.form().show(value)
    }

    /// A value that a person typed.
    pub(crate) fn parse_typed(&self, text: &str) -> Option<Value> {
        self.form().parse_typed(text)
    }

    /// Its file, without the leading slash.
    fn file(&self) -> String {
        match self {
            Self::Sysctl(name) => name.file(),
            Self::Host(setting) => setting.file().to_owned(),
            Self::Cpu { cpu, setting } => {
                format!("sys/devices/system/cpu/cpu{cpu}/{}", setting.file())
            }
            Self::Interrupt { number } => format!("proc/irq/{number}/smp_affinity_list"),
            Self::Device { device, setting } => {
                format!("sys/class/net/{device}/{}", setting.file())
            }
            Self::Queue {
                device,
                queue,
                setting,
            } => {
                format!("sys/class/net/{device}/queues/{queue}/{}", setting.file())
            }
        }
    }

    fn form(&self) -> Form {
        match self {
            Self::Sysctl(name) => name.form(),
            Self::Host(setting) => setting.form(),
            Self::Cpu { setting, .. } => setting.form(),
            Self::Interrupt { .. } => Form::CpuList,
            Self::Device { .. } => Form::Number,
            Self::Queue { setting, .. } => setting.form(),
        }
    }
}

impl std::fmt::Display for Knob {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sysctl(name) => write!(out, "{name}"),
            knob => write!(out, "/{}", knob.file()),
        }
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
            setting: QueueSetting::RpsCpus,
        };
        let command = "echo 00000003 > /sys/class/net/eth0/queues/rx-0/rps_cpus";
        assert_eq!(mask.command(&Value::Numbers(vec![0, 1])), command);
        assert_eq!(mask.show(&Value::Numbers(vec![0, 1])), "0-1");
    }

    #[test]
    fn a_device_whose_name_a_shell_would_take_apart_is_quoted() {
        let knob = Knob::Device {
            device: "a;reboot".parse().unwrap(),
            setting: DeviceSetting::Mtu,
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
        ];
        for text in foreign {
            assert!(serde_json::from_str::<Knob>(text).is_err(), "{text}");
        }
        let ours = r#"{"queue":{"device":"eth0","queue":"tx-1","setting":"xps_cpus"}}"#;
        let knob: Knob = serde_json::from_str(ours).unwrap();
        assert_eq!(serde_json::to_string(&knob).unwrap(), ours);
    }
}
