//! BPF programs that somebody runs in the kernel for each packet or call.

use std::io;

use model::finding::Finding;
use sys::bpf::{self, Program};

use super::Subject;
use crate::errno::denied;
use crate::links::{self, Device};
use crate::packet_filters::{self, Filter, FilterHook};

/// Program types, by number in linux/bpf.h, that run for a packet, a socket call or any call: one
/// per line.
const ON_THE_PATH: &str = "\
2 kprobe
3 tc filter
4 tc action
5 tracepoint
6 XDP
7 perf event
8 control group packets
9 control group sockets
10 tunnel in
11 tunnel out
12 tunnel transmit
13 socket operations
14 socket stream
16 socket messages
17 raw tracepoint
18 control group addresses
24 raw tracepoint
25 control group socket options
26 tracing
29 security module
32 netfilter";

/// What was listed. Listing what sees packets on devices needs no privilege; listing programs does.
pub(super) struct BpfPrograms {
    devices: Vec<Device>,
    filters: Vec<Filter>,
    programs: io::Result<Vec<Program>>,
}

impl BpfPrograms {
    pub(super) fn of_this_machine() -> Self {
        let devices = links::list().unwrap_or_default();
        let filters = devices
            .iter()
            .filter_map(|device| packet_filters::of_device(device.index).ok());
        Self {
            filters: filters.flatten().collect(),
            programs: bpf::programs(),
            devices,
        }
    }

    /// Nothing on any device, and the programs hidden.
    #[cfg(test)]
    pub(super) fn hidden() -> Self {
        Self {
            devices: Vec::new(),
            filters: Vec::new(),
            programs: Err(io::Error::from_raw_os_error(1)),
        }
    }
}

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    Some(judge(&subject.bpf_programs))
}

fn judge(seen: &BpfPrograms) -> Finding {
    let mut signs = on_devices(seen);
    match &seen.programs {
        Ok(programs) => signs.extend(loaded(programs)),
        Err(error) if signs.is_empty() && error.kind() != io::ErrorKind::Unsupported => {
            let refused = denied("bpf(2)", error);
            return say!("bpf-programs.hidden", refused);
        }
        Err(_) => {}
    }
    let signs = signs.join("; ");
    match signs.is_empty() {
        true => say!("bpf-programs.none"),
        false => say!("bpf-programs.run", signs),
    }
}

fn on_devices(seen: &BpfPrograms) -> Vec<String> {
    let xdp = seen.devices.iter().filter_map(|device| {
        let program = device.xdp_program?;
        Some(format!("XDP program {program} on device {}", device.index))
    });
    let filters = seen.filters.iter().map(
        |Filter {
             device,
             direction,
             kind,
         }| {
            let direction = match direction {
                FilterHook::In => "into",
                FilterHook::Out => "out of",
            };
            format!("a {kind} filter on packets {direction} device {device}")
        },
    );
    xdp.chain(filters).collect()
}

/// How many of each type are loaded, with their names.
fn loaded(programs: &[Program]) -> Vec<String> {
    let of_kind = |line: &str| {
        let (kind, words) = line.split_once(' ')?;
        let alike = programs
            .iter()
            .filter(|program| program.kind.to_string() == kind);
        let names: Vec<_> = alike.map(|program| program.name.as_str()).collect();
        (!names.is_empty())
            .then(|| format!("{} loaded for {words} ({})", names.len(), names.join(", ")))
    };
    ON_THE_PATH.lines().filter_map(of_kind).collect()
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;

    fn nothing() -> BpfPrograms {
        BpfPrograms {
            devices: Vec::new(),
            filters: Vec::new(),
            programs: Ok(Vec::new()),
        }
    }

    fn program(kind: u32, name: &str) -> Program {
        let name = name.to_owned();
        Program { id: 1, kind, name }
    }

    #[test]
    fn programs_for_packets_and_calls_count_and_others_do_not() {
        let seen = BpfPrograms {
            // The last one guards the devices of a control group.
            programs: Ok(vec![program(8, "sd_fw_egress"), program(15, "sd_devices")]),
            ..nothing()
        };
        let finding = judge(&seen);
        assert_eq!(finding.severity, Severity::Notice);
        assert_eq!(
            finding.evidence,
            "1 loaded for control group packets (sd_fw_egress)"
        );
        assert_eq!(judge(&nothing()).severity, Severity::Fine);
    }

    #[test]
    fn what_is_on_a_device_is_told_even_where_programs_are_hidden() {
        let hidden = || Err(io::Error::from_raw_os_error(1));
        let device = Device {
            index: 3,
            xdp_program: Some(42),
            ..Device::default()
        };
        let seen = BpfPrograms {
            devices: vec![device],
            programs: hidden(),
            ..nothing()
        };
        assert_eq!(judge(&seen).evidence, "XDP program 42 on device 3");
        let seen = BpfPrograms {
            programs: hidden(),
            ..nothing()
        };
        let finding = judge(&seen);
        assert_eq!(finding.severity, Severity::Unknown);
        assert!(finding.evidence.contains("EPERM"), "{}", finding.evidence);
    }
}
