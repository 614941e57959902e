//! What `linerate rig` says of rigs, as JSON.

use std::net::Ipv4Addr;

use machine::rig::HeldHost;
use machine::rig::standing::{Standing, State, TakenDown};
use model::Topology;
use schemars::JsonSchema;
use serde::Serialize;

/// The rig that was put up.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RigUp {
    /// The rig.
    pub(super) rig: StandingRig,
}

/// The rigs there are.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RigStatus {
    /// One entry for each rig, the oldest first.
    pub(super) rigs: Vec<StandingRig>,
}

/// What was taken down.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RigClean {
    /// One entry for each rig, the oldest first.
    pub(super) cleaned: Vec<TakenDown>,
}

/// A rig of `linerate rig`.
#[derive(Serialize, JsonSchema)]
pub(super) struct StandingRig {
    /// What its owner calls it.
    name: String,
    /// Its hosts and how they are linked.
    kind: Topology,
    /// up: its holder lives; left: its holder has ended and nobody cleaned up; of_earlier_boot:
    /// only its entry in the journal is left.
    #[schemars(extend("enum" = ["up", "left", "of_earlier_boot"]))]
    state: &'static str,
    /// Number of the process that holds it, or held it.
    holder: u32,
    /// The client first, the server last; empty while it is being built.
    hosts: Vec<HostShape>,
    /// Numbers of the processes in it that `rig exec` started, and of theirs.
    programs: Vec<u32>,
}

/// A host of it.
#[derive(Serialize, JsonSchema)]
struct HostShape {
    /// What `rig exec` takes.
    name: String,
    /// IPv4 address at which the other hosts reach it; null where it has none.
    address: Option<Ipv4Addr>,
    /// Inode of its network namespace.
    namespace: u64,
    /// Path of the namespace for other programs, as `nsenter --net=PATH`; null where the rig is
    /// not up.
    enter: Option<String>,
}

impl From<&Standing> for StandingRig {
    fn from(rig: &Standing) -> Self {
        let state = match rig.state() {
            State::Up => "up",
            State::Left => "left",
            State::OfEarlierBoot => "of_earlier_boot",
        };
        let host = |host: &HeldHost| HostShape {
            name: host.name.clone(),
            address: host.address,
            namespace: host.namespace,
            enter: (rig.state() == State::Up)
                .then(|| format!("/proc/{}/fd/{}", rig.holder(), host.descriptor)),
        };
        Self {
            name: rig.name().to_string(),
            kind: rig.topology(),
            state,
            holder: rig.holder(),
            hosts: rig.hosts().iter().map(host).collect(),
            programs: rig.programs(),
        }
    }
}
