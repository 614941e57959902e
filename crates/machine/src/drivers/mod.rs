//! What the drivers of network devices report and accept, as ethtool(8) asks them, and the NAPIs
//! that take their packets.

#[cfg(test)]
#[path = "tests/recorded.rs"]
pub(crate) mod recorded;

use std::fmt::Debug;
use std::io;

use sys::ethtool::{Ethtool, Feature, Setting};
use sys::netdev::{self, Napi};

use crate::rtnetlink;

/// Who answers for the drivers: the kernel, or in a test a recording of another machine's.
pub(crate) trait Drivers: Debug + Send + Sync {
    /// A setting's number, and its maximum where the driver reports one.
    ///
    /// # Errors
    /// Those of [`Ethtool::setting`].
    fn setting(&self, device: &str, setting: Setting) -> io::Result<(u32, Option<u32>)>;

    /// # Errors
    /// Those of [`Ethtool::set`].
    fn set(&self, device: &str, setting: Setting, number: u32) -> io::Result<()>;

    /// # Errors
    /// Those of [`Ethtool::features`].
    fn features(&self, device: &str) -> io::Result<Vec<Feature>>;

    /// # Errors
    /// Those of [`Ethtool::switch_feature`].
    fn switch_feature(&self, device: &str, name: &str, on: bool) -> io::Result<()>;

    /// # Errors
    /// Those of [`Ethtool::receive_hash_table`].
    fn receive_hash_table(&self, device: &str) -> io::Result<Vec<u32>>;

    /// # Errors
    /// Those of [`netdev::napis`].
    fn napis(&self, device: &str) -> io::Result<Vec<Napi>>;

    /// # Errors
    /// Those of [`netdev::suspend_for`].
    fn suspend_for(&self, napi_id: u32, timeout_ns: u32) -> io::Result<()>;
}

/// The drivers of the caller's network namespace.
#[derive(Debug)]
pub(crate) struct OfThisMachine;

impl Drivers for OfThisMachine {
    fn setting(&self, device: &str, setting: Setting) -> io::Result<(u32, Option<u32>)> {
        Ethtool::open()?.setting(device, setting)
    }

    fn set(&self, device: &str, setting: Setting, number: u32) -> io::Result<()> {
        Ethtool::open()?.set(device, setting, number)
    }

    fn features(&self, device: &str) -> io::Result<Vec<Feature>> {
        Ethtool::open()?.features(device)
    }

    fn switch_feature(&self, device: &str, name: &str, on: bool) -> io::Result<()> {
        Ethtool::open()?.switch_feature(device, name, on)
    }

    fn receive_hash_table(&self, device: &str) -> io::Result<Vec<u32>> {
        Ethtool::open()?.receive_hash_table(device)
    }

    fn napis(&self, device: &str) -> io::Result<Vec<Napi>> {
        netdev::napis(rtnetlink::index_of(device)?)
    }

    fn suspend_for(&self, napi_id: u32, timeout_ns: u32) -> io::Result<()> {
        netdev::suspend_for(napi_id, timeout_ns)
    }
}
