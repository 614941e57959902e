//! Why a rig could not be built, and what to do about it.

use std::io;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::errno::errno;

const NOT_PERMITTED: i32 = 1;
const NO_SPACE: i32 = 28;

/// The steps to build a rig, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    UserNamespace,
    UtsNamespace,
    NetworkNamespace,
    Cable,
    Route,
    Tunnel,
    Devices,
}

impl Step {
    fn words(self) -> &'static str {
        match self {
            Self::UserNamespace => "making a user namespace",
            Self::UtsNamespace => "making a UTS namespace",
            Self::NetworkNamespace => "making a network namespace",
            Self::Cable => "joining two namespaces by a veth pair",
            Self::Route => "adding a route",
            Self::Tunnel => "making a VXLAN tunnel",
            Self::Devices => "waiting for the devices to come up",
        }
    }

    fn advice(self, error: &io::Error) -> &'static str {
        match (self, error.raw_os_error()) {
            (Self::UserNamespace | Self::UtsNamespace | Self::NetworkNamespace, Some(NO_SPACE)) => {
                "no more of them are allowed here: see the limits in /proc/sys/user/, \
                 max_user_namespaces, max_uts_namespaces and max_net_namespaces"
            }
            (Self::UserNamespace | Self::UtsNamespace | Self::NetworkNamespace, _) => {
                "the kernel or a sandbox forbids it to this user: run it as root, or have it \
                 allowed (sysctl kernel.unprivileged_userns_clone=1 on Debian, \
                 kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu)"
            }
            (Self::Cable, Some(NOT_PERMITTED)) => {
                "a security module lets user namespaces be made and takes their rights away: run \
                 it as root, or set sysctl kernel.apparmor_restrict_unprivileged_userns=0"
            }
            (Self::Cable | Self::Route, _) => "the kernel needs veth: `modprobe veth` as root",
            (Self::Tunnel, _) => {
                "the kernel needs VXLAN: `modprobe vxlan` as root; the rig `router` does without"
            }
            (Self::Devices, _) => "the machine may be overloaded: try again",
        }
    }
}

/// Why there is no rig.
#[derive(Debug, Error)]
pub enum RigError {
    /// The process that should hold the rig could not be started.
    #[error("the process that holds a rig could not be started: {0}")]
    Start(io::Error),
    /// The holder ended, or gave no valid answer.
    #[error("the process that holds the rig ended before it was built; nothing is left of it")]
    HolderGone,
    /// The kernel refused a step.
    #[error("no rig: {} failed: {}; {}", step.words(), errno(.source), step.advice(.source))]
    Refused { step: Step, source: io::Error },
}
