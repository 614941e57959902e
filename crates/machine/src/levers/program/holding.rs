//! Settings that hold as long as a descriptor is open. They affect more than the program: the whole
//! machine, or a network device.

use std::fmt;
use std::io;

use sys::bpf::{Mode, PassProgram};
use sys::ethtool::{Ethtool, Feature};
use sys::wake_latency::{self, HeldLatency};

use super::spelling::time;
use crate::errno::errno;
use crate::levers::DeviceName;
use crate::links::{self, Device};
use crate::tree::Tree;

/// The file that names the driver which decides how deeply idle CPUs sleep.
const IDLE_DRIVER: &str = "sys/devices/system/cpu/cpuidle/current_driver";
/// `EEXIST` and `EBUSY`: another program is attached, and stays.
const TAKEN: [i32; 2] = [17, 16];

/// Features of a device that merge arriving packets before the kernel sees them.
const MERGES: [&str; 2] = ["rx-lro", "rx-gro-hw"];

/// A setting that holds as long as a descriptor is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The longest time that a CPU of the machine may take to wake, µs.
    WakeLatencyUs(u32),
    /// An XDP program that lets each packet of a device pass.
    PacketProgram { mode: Mode, device: DeviceName },
}

/// A setting that is in force until this is dropped.
pub(crate) enum Held {
    WakeLatency(HeldLatency),
    PacketProgram {
        program: PassProgram,
        mode: Mode,
        device_index: u32,
    },
}

impl Holding {
    /// Puts the setting in force.
    ///
    /// # Errors
    /// What the kernel refused, or that nothing would obey the setting.
    pub(super) fn take(&self) -> io::Result<Held> {
        match self {
            Self::WakeLatencyUs(most_us) => {
                is_obeyed(&Tree::of_this_machine())?;
                HeldLatency::take(*most_us).map(Held::WakeLatency)
            }
            Self::PacketProgram { mode, device } => attach(*mode, device),
        }
    }
}

impl Held {
    /// Leaves the descriptor open for the program that is executed in place of this process.
    pub(super) fn hand_on(&self) -> io::Result<()> {
        match self {
            Self::WakeLatency(latency) => latency.hand_on(),
            Self::PacketProgram { program, .. } => program.hand_on(),
        }
    }

    /// Checks with the kernel that the setting is in force.
    ///
    /// # Errors
    /// Says what is in force instead.
    pub(crate) fn verify(&self) -> Result<(), String> {
        match self {
            Self::WakeLatency(latency) => {
                let now_us = wake_latency::now_us().map_err(|error| errno(&error))?;
                is_as_low(now_us, latency.most_us())
            }
            Self::PacketProgram {
                program,
                mode,
                device_index,
            } => {
                let devices = links::list().map_err(|error| errno(&error))?;
                let runs = devices.iter().find(|link| link.index == *device_index);
                is_run(runs, program.id(), *mode)
            }
        }
    }
}

/// Checks that the wake latency is low enough. The lowest value that any process holds counts.
fn is_as_low(now_us: u32, most_us: u32) -> Result<(), String> {
    match now_us <= most_us {
        true => Ok(()),
        false => Err(latency(now_us)),
    }
}

fn is_run(device: Option<&Device>, program: u32, mode: Mode) -> Result<(), String> {
    let is_it =
        |device: &Device| device.xdp_program == Some(program) && device.xdp_mode == attached(mode);
    match device.is_some_and(is_it) {
        true => Ok(()),
        false => Err(device
            .and_then(program_of)
            .unwrap_or_else(|| "none".to_owned())),
    }
}

/// `XDP_ATTACHED_…` of linux/if_link.h.
fn attached(mode: Mode) -> u8 {
    match mode {
        Mode::Native => 1,
        Mode::Generic => 2,
    }
}

fn attach(mode: Mode, device: &DeviceName) -> io::Result<Held> {
    let devices = links::list()?;
    let named = devices.iter().find(|link| link.name == device.as_str());
    let there =
        named.ok_or_else(|| io::Error::other(format!("there is no device {device} here")))?;
    if mode == Mode::Generic {
        loses_nothing(device)?;
    }
    let program = PassProgram::attach(there.index, mode)
        .map_err(|error| with_other_program(error, device))?;
    Ok(Held::PacketProgram {
        program,
        mode,
        device_index: there.index,
    })
}

/// Refuses a device that would lose a setting. To attach in generic mode, the kernel turns off for
/// good the features that merge packets before it (`generic_xdp_install` in net/core/dev.c).
fn loses_nothing(device: &DeviceName) -> io::Result<()> {
    let features = Ethtool::open()?.features(device.as_str())?;
    match lost(&features) {
        None => Ok(()),
        Some(lost) => Err(io::Error::other(format!(
            "{device} merges packets by itself ({lost}), and the kernel would turn that off for \
             good; run `ethtool -K {device} {lost} off` first, or use native"
        ))),
    }
}

fn lost(features: &[Feature]) -> Option<&str> {
    let mut wanted = features.iter().filter(|feature| feature.is_wanted);
    let lost = wanted.find(|feature| MERGES.contains(&feature.name.as_str()))?;
    Some(&lost.name)
}

/// Names the other program in the error, if the kernel refused ours because of it.
fn with_other_program(error: io::Error, device: &DeviceName) -> io::Error {
    let devices = links::list().unwrap_or_default();
    let there = devices.iter().find(|link| link.name == device.as_str());
    let is_taken = error
        .raw_os_error()
        .is_some_and(|errno| TAKEN.contains(&errno));
    match there.and_then(program_of).filter(|_| is_taken) {
        Some(told) => io::Error::other(format!("{told} already, and it stays: {}", errno(&error))),
        None => error,
    }
}

/// Describes the program that a device runs on each packet; `None` if it runs none.
fn program_of(device: &Device) -> Option<String> {
    let program = device.xdp_program?;
    let by = match device.xdp_mode {
        1 => ", native",
        2 => ", generic",
        _ => "",
    };
    Some(format!("{} runs program {program}{by}", device.name))
}

/// Describes the packet programs of all devices of our namespace.
pub(super) fn packet_programs_now() -> io::Result<String> {
    let programs: Vec<String> = links::list()?.iter().filter_map(program_of).collect();
    Ok(match programs.as_slice() {
        [] => "no device has one".to_owned(),
        programs => programs.join("; "),
    })
}

/// The machine's wake latency: the lowest value that any process holds.
pub(super) fn wake_latency_now() -> io::Result<String> {
    is_obeyed(&Tree::of_this_machine())?;
    wake_latency::now_us().map(latency)
}

fn latency(held_us: u32) -> String {
    match held_us {
        wake_latency::ANY_US => "any".to_owned(),
        held_us => time(u64::from(held_us) * 1000),
    }
}

/// Checks that an idle driver is there. The kernel accepts a wake latency even if no idle driver
/// would ever look at it.
fn is_obeyed(tree: &Tree) -> io::Result<()> {
    match tree.text(IDLE_DRIVER).as_deref() {
        Some("none") => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("there is no idle driver that obeys it (/{IDLE_DRIVER} is none)"),
        )),
        _ => Ok(()),
    }
}

impl fmt::Display for Holding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WakeLatencyUs(most_us) => formatter.write_str(&latency(*most_us)),
            Self::PacketProgram { mode, device } => {
                formatter.write_str(match mode {
                    Mode::Native => "native",
                    Mode::Generic => "generic",
                })?;
                write!(formatter, ":{device}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted::Planted;

    #[test]
    fn a_wake_latency_that_somebody_holds_lower_is_as_good_and_any_is_not() {
        for (now_us, verified) in [
            (0, Ok(())),
            (20, Ok(())),
            (21, Err("21us".to_owned())),
            (wake_latency::ANY_US, Err("any".to_owned())),
        ] {
            assert_eq!(is_as_low(now_us, 20), verified, "{now_us}");
        }
    }

    #[test]
    fn a_wake_latency_that_no_idle_driver_obeys_is_refused_with_the_reason() {
        for (driver, refused) in [("none\n", true), ("intel_idle\n", false)] {
            let machine = Planted::new("idle-driver", &[(IDLE_DRIVER, driver)]);
            assert_eq!(is_obeyed(&machine.tree).is_err(), refused, "{driver}");
        }
        let machine = Planted::new("no-idle-driver", &[(IDLE_DRIVER, "none\n")]);
        let said = is_obeyed(&machine.tree).unwrap_err().to_string();
        assert!(said.contains("current_driver is none"), "{said}");
    }

    #[test]
    fn what_generic_would_turn_off_for_good_is_told_where_it_is_wanted() {
        let feature = |name: &str, is_wanted| Feature {
            name: name.to_owned(),
            is_on: is_wanted,
            is_wanted,
            can_change: true,
        };
        let of_a_guest = [feature("rx-gro", true), feature("rx-gro-hw", true)];
        assert_eq!(lost(&of_a_guest), Some("rx-gro-hw"));
        assert_eq!(lost(&of_a_guest[..1]), None);
        assert_eq!(lost(&[feature("rx-lro", false)]), None);
    }

    #[test]
    fn only_our_own_program_in_the_mode_that_was_asked_for_is_what_was_wanted() {
        let device = Device {
            name: "eth0".to_owned(),
            xdp_program: Some(7),
            xdp_mode: 2,
            ..Device::default()
        };
        assert_eq!(is_run(Some(&device), 7, Mode::Generic), Ok(()));
        let other = Err("eth0 runs program 7, generic".to_owned());
        assert_eq!(is_run(Some(&device), 7, Mode::Native), other);
        assert_eq!(is_run(Some(&device), 8, Mode::Generic), other);
        let none = Err("none".to_owned());
        assert_eq!(is_run(None, 7, Mode::Native), none);
    }
}
