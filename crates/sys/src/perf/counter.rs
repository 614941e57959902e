//! What a device counts, such as a memory's controller: no thread's, and without a ring.

use std::fs::File;
use std::io::{self, Read as _};

use super::attributes::Attributes;
use super::{Whose, open_event};

/// A counter that runs until it is dropped.
#[derive(Debug)]
pub struct DeviceCounter(File);

impl DeviceCounter {
    /// Counts from now on: the event `config` of the device with this number (`type` below
    /// `/sys/bus/event_source/devices/NAME`), asked for at one of the CPUs of its `cpumask`.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` for what `kernel.perf_event_paranoid` keeps from this user, `EINVAL` or `ENOENT` for an event
    /// that the device does not have.
    pub fn start(device: u32, config: u64, cpu: u32) -> io::Result<Self> {
        let attributes = Attributes::of_counter(device, config);
        open_event(&attributes, Whose::Cpu(cpu)).map(|descriptor| Self(descriptor.into()))
    }

    /// What was counted since. Where more is asked of a device than it counts at once, events take turns, and the figure
    /// is for all of the time.
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
