//! The JSON values that `linerate rig` prints.

use machine::rig::standing::{StandingRig, TakenDown};
use schemars::JsonSchema;
use serde::Serialize;

/// The rig that was put up.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RigUp {
    /// The rig.
    pub(super) rig: StandingRig,
}

/// The rigs of this user.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RigStatus {
    /// One entry for each rig, the oldest first.
    pub(super) rigs: Vec<StandingRig>,
}

/// The rigs that were taken down.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RigClean {
    /// One entry for each rig, the oldest first.
    pub(super) cleaned: Vec<TakenDown>,
}
