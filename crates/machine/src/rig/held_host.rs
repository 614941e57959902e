//! A host of a rig as whoever holds it has it.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// A host as its holder has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldHost {
    pub name: String,
    /// Where the other hosts reach it; a wire has none.
    pub address: Option<Ipv4Addr>,
    /// Inode of its network namespace: another's, once it is gone.
    pub namespace: u64,
    /// Cookie of its network namespace: never another's until the machine is started again. `None`
    /// before Linux 5.14.
    pub cookie: Option<u64>,
    /// The holder's descriptor of that namespace: `/proc/HOLDER/fd/DESCRIPTOR`.
    pub descriptor: i32,
}
