//! The kinds of rig by name. How each is built is in `machine`; here is only how they are written
//! down.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::{as_text, named};

named! {
    /// The hosts of a rig and how they are linked.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Topology, "rig" {
        /// `client` and `server`, joined by a pair of virtual devices.
        Netns = "netns",
        /// `client`, `router` and `server`; the router forwards between the two.
        Router = "router",
        /// A router, and client and server joined by a VXLAN tunnel over it.
        Tunnel = "tunnel",
        /// `client`, `wire` and `server`: the wire has a device towards each and no address, so
        /// only a program there can carry anything from one to the other.
        Wire = "wire",
    }
}

/// The name that its owner gives to a rig that is up: at most 32 small letters, digits and hyphens,
/// a letter first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct RigName(String);

const LONGEST_NAME: usize = 32;

impl RigName {
    /// The name as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Topology> for RigName {
    fn from(topology: Topology) -> Self {
        Self(topology.name().to_owned())
    }
}

/// The error for a text that is not the name of a rig.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rig's name is at most 32 small letters, digits and hyphens, a letter first")]
pub struct BadRigName;

impl FromStr for RigName {
    type Err = BadRigName;

    fn from_str(text: &str) -> Result<Self, BadRigName> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let begins_well = text.starts_with(|c: char| c.is_ascii_lowercase());
        if begins_well && text.len() <= LONGEST_NAME && text.chars().all(is_plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadRigName)
        }
    }
}

as_text!(RigName);

impl fmt::Display for RigName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

named! {
    /// The hosts and links that a study runs on.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum RigKind, "rig" {
        /// Client and server on one loopback: that of a namespace of our own where the kernel
        /// allows it.
        #[default]
        Loopback = "loopback",
        /// Client and server in a namespace each, joined by a pair of virtual devices.
        Netns = "netns",
        /// Client and server with a forwarding namespace between them.
        Router = "router",
        /// Client and server with an encapsulating device between them.
        Tunnel = "tunnel",
        /// The machines that the hosts file names.
        Hosts = "hosts",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_the_name_it_is_written_with() {
        for topology in Topology::ALL {
            assert_eq!(topology.name().parse(), Ok(topology));
            let json = serde_json::to_value(topology).unwrap();
            assert_eq!(json, topology.to_string());
        }
        let error = "ring".parse::<Topology>().unwrap_err();
        assert!(
            error.contains("`ring`") && error.contains("tunnel"),
            "{error}"
        );
    }

    #[test]
    fn a_name_that_could_be_a_path_or_a_flag_is_refused() {
        for bad in [
            "",
            "-a",
            "1a",
            "a/b",
            "..",
            "A",
            "a b",
            "a\n",
            &"a".repeat(33),
        ] {
            assert_eq!(bad.parse::<RigName>(), Err(BadRigName), "{bad:?}");
        }
        for topology in Topology::ALL {
            assert_eq!(topology.name().parse(), Ok(RigName::from(topology)));
        }
    }
}
