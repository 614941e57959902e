//! The limit on how long CPUs may take to wake: the deeper they sleep, the longer it takes. Every
//! process that has `/dev/cpu_dma_latency` open may set a limit, and the smallest one counts
//! (Documentation/power/pm_qos_interface.rst).

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;

use crate::descriptor;

const DEVICE: &str = "/dev/cpu_dma_latency";
/// What the kernel reports when nobody sets a limit, µs (`PM_QOS_CPU_LATENCY_DEFAULT_VALUE`).
pub const ANY_US: u32 = 2_000_000_000;

/// The limit that holds now, µs.
///
/// # Errors
/// `EACCES` without root, `ENOENT` where the kernel has no idle states to choose from.
pub fn now_us() -> io::Result<u32> {
    read_us(&File::open(DEVICE)?)
}

/// A limit that holds until this is dropped, or until the program that it is handed on to ends.
#[derive(Debug)]
pub struct HeldLatency {
    device: File,
    most_us: u32,
}

impl HeldLatency {
    /// Sets a limit from now on, µs.
    ///
    /// # Errors
    /// Those of [`now_us`].
    pub fn take(most_us: u32) -> io::Result<Self> {
        let device = File::options().read(true).write(true).open(DEVICE)?;
        write_us(&device, most_us)?;
        Ok(Self { device, most_us })
    }

    /// Leaves the device open for the program that is executed in place of this process.
    ///
    /// # Errors
    /// None are known for a descriptor that is open.
    pub fn hand_on(&self) -> io::Result<()> {
        descriptor::hand_on(&self.device)
    }

    /// The limit that was set, µs.
    pub fn most_us(&self) -> u32 {
        self.most_us
    }
}

fn write_us(mut device: &File, most_us: u32) -> io::Result<()> {
    device.write_all(&most_us.to_ne_bytes())?;
    match read_us(device)? {
        held_us if held_us <= most_us => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
    }
}

fn read_us(device: &File) -> io::Result<u32> {
    let mut number = [0; size_of::<u32>()];
    device.read_exact_at(&mut number, 0)?;
    Ok(u32::from_ne_bytes(number))
}
