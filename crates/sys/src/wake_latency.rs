//! How long the CPUs of the machine may take to wake: the deeper they sleep, the longer. The least that
//! anybody holds counts, for as long as he has `/dev/cpu_dma_latency` open
//! (Documentation/power/pm_qos_interface.rst).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use crate::{check, check_size, descriptor};

const DEVICE: &CStr = c"/dev/cpu_dma_latency";
/// What the kernel tells where nobody holds anything, µs (`PM_QOS_CPU_LATENCY_DEFAULT_VALUE`).
pub const ANY_US: u32 = 2_000_000_000;
/// What it tells and takes, a number of 32 bits.
const NUMBER_BYTES: usize = 4;

/// What holds now.
///
/// # Errors
/// `EACCES` without root, `ENOENT` where the kernel has no idle states to choose from.
pub fn now_us() -> io::Result<u32> {
    let device = open(libc::O_RDONLY | libc::O_CLOEXEC)?;
    read_us(device.as_raw_fd())
}

/// A time that is held until this is dropped, or until what it is handed on to ends.
#[derive(Debug)]
pub struct HeldLatency {
    device: OwnedFd,
    most_us: u32,
}

impl HeldLatency {
    /// Holds it from now on, µs.
    ///
    /// # Errors
    /// As of [`now_us`].
    pub fn take(most_us: u32) -> io::Result<Self> {
        let device = open(libc::O_RDWR | libc::O_CLOEXEC)?;
        write_us(&device, most_us)?;
        Ok(Self { device, most_us })
    }

    /// Leaves it open for what is executed in the place of this process.
    ///
    /// # Errors
    /// None are known for a descriptor that is open.
    pub fn hand_on(&self) -> io::Result<()> {
        descriptor::hand_on(&self.device)
    }

    /// The time that it is.
    #[must_use]
    pub fn most_us(&self) -> u32 {
        self.most_us
    }
}

fn write_us(device: &OwnedFd, most_us: u32) -> io::Result<()> {
    let number = most_us.to_ne_bytes();
    let file = device.as_raw_fd();
    // SAFETY: `number` is readable for its length.
    check_size(unsafe { libc::write(file, number.as_ptr().cast(), NUMBER_BYTES) })?;
    match read_us(file)? {
        held_us if held_us <= most_us => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
    }
}

fn open(flags: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: the path ends with a zero.
    let fd = check(unsafe { libc::open(DEVICE.as_ptr(), flags) })?;
    // SAFETY: `fd` was just opened and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn read_us(device: RawFd) -> io::Result<u32> {
    let mut number = [0_u8; NUMBER_BYTES];
    // SAFETY: `number` is writable for its length.
    let read = unsafe { libc::pread(device, number.as_mut_ptr().cast(), NUMBER_BYTES, 0) };
    match check_size(read)? {
        NUMBER_BYTES => Ok(u32::from_ne_bytes(number)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
