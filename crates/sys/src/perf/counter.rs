//! Counters of a device, such as a memory controller: they belong to no thread, and have no ring.

use std::fs::File;
use std::io::{self, Read as _};

use super::attributes::Attributes;
use super::{Whose, open_event};

/// A counter that runs until it is dropped.
#[derive(Debug)]
pub struct DeviceCounter(File);

impl DeviceCounter {
    /// Starts to count the event `config` of the device with this number (`type` below
    /// `/sys/bus/event_source/devices/NAME`), which is asked for at one of the CPUs of its
    /// `cpumask`.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` for what `kernel.perf_event_paranoid` forbids this user, `EINVAL` or
    /// `ENOENT` for an event that the device does not have.
    pub fn start(device: u32, config: u64, cpu: u32) -> io::Result<Self> {
        let attributes = Attributes::of_counter(device, config);
        open_event(&attributes, Whose::Cpu(cpu)).map(|descriptor| Self(descriptor.into()))
    }

    /// Returns the count since the start. Where more events are asked of a device than it counts at
    /// once, they take turns, and the result is extrapolated to all of the time.
    ///
    /// # Errors
    /// None are known.
    pub fn count(&self) -> io::Result<f64> {
        let mut read = [0; 24];
        (&self.0).read_exact(&mut read)?;
        let [count, enabled_ns, running_ns] = [0, 8, 16].map(|at| {
            let bytes = read[at..at + 8].first_chunk().copied();
            u64::from_ne_bytes(bytes.unwrap_or_default()) as f64
        });
        Ok(match running_ns > 0.0 {
            true => count * enabled_ns / running_ns,
            false => 0.0,
        })
    }
}
