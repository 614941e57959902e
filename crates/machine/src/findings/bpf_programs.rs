//! Programs that somebody runs in the kernel for each packet or call.

use std::io;

use model::finding::{Finding, Severity};
use sys::bpf::{self, Program};

use super::{Subject, fine, unknown};
use crate::errno::denied;
use crate::links::{self, Device};
use crate::packet_filters::{self, Filter, FilterHook};

const NAME: &str = "bpf-programs";

/// Types of program, by number in linux/bpf.h, that run for a packet, a socket call or any call.
const ON_THE_PATH: [(u32, &str); 21] = [
    (2, "kprobe"),
    (3, "tc filter"),
    (4, "tc action"),
    (5, "tracepoint"),
    (6, "XDP"),
    (7, "perf event"),
    (8, "control group packets"),
    (9, "control group sockets"),
    (10, "tunnel in"),
    (11, "tunnel out"),
    (12, "tunnel transmit"),
    (13, "socket operations"),
    (14, "socket stream"),
    (16, "socket messages"),
    (17, "raw tracepoint"),
    (18, "control group addresses"),
    (24, "raw tracepoint"),
    (25, "control group socket options"),
    (26, "tracing"),
    (29, "security module"),
    (32, "netfilter"),
];

/// What sees packets on devices needs no privilege to be listed, the programs do.
struct BpfPrograms {
    devices: Vec<Device>,
    filters: Vec<Filter>,
    programs: io::Result<Vec<Program>>,
}

pub(super) fn check(_subject: &Subject) -> Option<Finding> {
    let devices = links::list().unwrap_or_default();
    let filters = devices
        .iter()
        .filter_map(|device| packet_filters::of_device(device.index).ok());
    Some(judge(&BpfPrograms {
        filters: filters.flatten().collect(),
        programs: bpf::programs(),
        devices,
    }))
}

fn judge(seen: &BpfPrograms) -> Finding {
    let mut signs = on_devices(seen);
    match &seen.programs {
        Ok(programs) => signs.extend(loaded(programs)),
        Err(error) if signs.is_empty() && error.kind() != io::ErrorKind::Unsupported => {
            let what = "Whether BPF programs run for each packet or call cannot be seen in full.";
            return unknown(NAME, what, denied("bpf(2)", error));
        }
        Err(_) => {}
    }
    if signs.is_empty() {
        let what = "No BPF program runs for each packet or call.";
        return fine(
            NAME,
            what,
            "rtnetlink: no XDP, no filter on a device; bpf(2): none loaded",
        );
    }
    Finding {
        severity: Severity::Notice,
        cost: "what the programs do decides: with kernel.bpf_stats_enabled=1, `bpftool prog show` \
               tells how often each ran and how long"
            .to_owned(),
        advice:
            "find out whose they are (`bpftool prog show`, `tc filter show`); take away for the \
                 measurement what the servers you compare would not have"
                .to_owned(),
        ..fine(
            NAME,
            "Programs may run in the kernel for each packet or call.",
            signs.join("; "),
        )
    }
}

fn on_devices(seen: &BpfPrograms) -> Vec<String> {
    let xdp = seen.devices.iter().filter_map(|device| {
        let program = device.xdp_program?;
        Some(format!("XDP program {program} on device {}", device.index))
    });
    let filters = seen.filters.iter().map(|filter| {
        let direction = match filter.direction {
            FilterHook::In => "into",
            FilterHook::Out => "out of",
        };
        format!(
            "a {} filter on packets {direction} device {}",
            filter.kind, filter.device
        )
    });
    xdp.chain(filters).collect()
}

/// How many of each type are loaded, with their names.
fn loaded(programs: &[Program]) -> Vec<String> {
    let of_kind = |(kind, words): &(u32, &str)| {
        let alike = programs.iter().filter(|program| program.kind == *kind);
        let names: Vec<_> = alike.map(|program| program.name.as_str()).collect();
        (!names.is_empty())
            .then(|| format!("{} loaded for {words} ({})", names.len(), names.join(", ")))
    };
    ON_THE_PATH.iter().filter_map(of_kind).collect()
}

#[cfg(test)]
mod tests {
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
            // The last is of a control group's devices.
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
