//! What a study puts upon its own target and takes away again: costs of known kind, and switches
//! of our own server. By name, in a plain array; one file each.
//!
//! What binds live sets something in the network namespace of this process, and only if
//! that namespace is our own: see [`crate::namespace`].

mod busy_work_ns;
mod conntrack;
mod nft_rules;
mod packet_tap;
mod rearm_oneshot;
mod seccomp_arguments;
mod serve_flag;
mod split_send;
mod table;

use std::io;
use std::ops::RangeInclusive;

use model::Binds;
use model::lever::LeverShape;
use sys::process::FilterInstruction;
use thiserror::Error;

use crate::namespace::NotPrivate;

/// A cost or a switch that an arm of a study can have.
pub trait Planted: Send + Sync {
    /// As it is written in study files: lower-case words joined by hyphens.
    fn name(&self) -> &'static str;

    /// What must be redone before it takes hold.
    fn binds(&self) -> Binds;

    /// What it does and what it costs, in one sentence.
    fn summary(&self) -> &'static str;

    /// The numbers that it takes; `None` for a lever that is on or off.
    fn values(&self) -> Option<RangeInclusive<u64>> {
        None
    }

    /// Whether it is a switch of our own server, that no other program has.
    fn only_serve(&self) -> bool {
        false
    }

    /// `None` where it can be used by this process, else the reason with its errno.
    fn unavailable(&self) -> Option<String>;

    /// Sets it to a value, or to its default.
    ///
    /// # Errors
    /// A value out of range, no namespace of our own, or what the kernel refused.
    fn set(&self, value: Option<u64>) -> Result<Setting, PlantedError>;
}

/// What became of a lever that was set.
pub enum Setting {
    /// Holds for as long as this lives; dropping it undoes.
    Held(Box<dyn Held + Send>),
    /// To be put into the start of the target's process.
    Child(ChildPart),
    /// To be put onto the command line of our own server.
    ServeArgument(Vec<String>),
}

/// What a target's process takes on between fork and exec; see [`sys::process::ChildSetup`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChildPart {
    pub seccomp: Vec<FilterInstruction>,
}

/// A live setting of ours.
pub trait Held {
    /// Looks whether it still holds, by what the kernel shows rather than by what was returned.
    ///
    /// # Errors
    /// Says what is not as it was set.
    fn verify(&self) -> Result<(), PlantedError>;

    /// Takes it back and looks whether it is gone.
    ///
    /// # Errors
    /// What the kernel refused, or what is still there.
    fn undo(self: Box<Self>) -> Result<(), PlantedError>;
}

/// Why a lever could not be set, verified or undone.
#[derive(Debug, Error)]
pub enum PlantedError {
    #[error("{lever} cannot be {value}; expected {expected}")]
    BadValue {
        lever: &'static str,
        value: u64,
        expected: LeverShape,
    },
    #[error("{lever}: {reason}")]
    NotPrivate {
        lever: &'static str,
        reason: NotPrivate,
    },
    #[error("{lever}: {doing} failed: {source}")]
    Refused {
        lever: &'static str,
        doing: &'static str,
        source: io::Error,
    },
    #[error("{lever} did not take effect: {what}")]
    WithoutEffect { lever: &'static str, what: String },
}

static ALL: &[&dyn Planted] = &[
    &split_send::LEVER,
    &rearm_oneshot::LEVER,
    &busy_work_ns::BusyWork,
    &seccomp_arguments::SeccompArguments,
    &nft_rules::NftRules,
    &conntrack::Conntrack,
    &packet_tap::PacketTap,
];

/// Every lever.
#[must_use]
pub fn all() -> &'static [&'static dyn Planted] {
    ALL
}

/// The lever of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Planted> {
    all().iter().copied().find(|lever| lever.name() == name)
}

/// Whether a live lever works here, by setting and undoing it; in a namespace of our own that
/// disturbs nobody, and no other answer is as sure.
fn tried(lever: &dyn Planted) -> Option<String> {
    match lever.set(None) {
        Ok(Setting::Held(held)) => held.verify().and_then(|()| held.undo()).err(),
        Ok(Setting::Child(_) | Setting::ServeArgument(_)) => None,
        Err(error) => Some(error),
    }
    .map(|error| error.to_string())
}

/// How a lever may be written.
fn shape(lever: &dyn Planted) -> LeverShape {
    LeverShape {
        name: lever.name(),
        values: lever.values(),
    }
}

/// How each lever may be written in a study file.
#[must_use]
pub fn shapes() -> Vec<LeverShape> {
    all().iter().copied().map(shape).collect()
}

/// The value, or the default, if the lever takes it.
fn value_of(lever: &dyn Planted, value: Option<u64>, default: u64) -> Result<u64, PlantedError> {
    check_value(lever, value).map(|()| value.unwrap_or(default))
}

fn check_value(lever: &dyn Planted, value: Option<u64>) -> Result<(), PlantedError> {
    let expected = shape(lever);
    match value.filter(|_| !expected.takes(value)) {
        None => Ok(()),
        Some(value) => Err(PlantedError::BadValue {
            lever: lever.name(),
            value,
            expected,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lever_is_found_by_its_name_and_can_be_written_in_a_study() {
        for lever in all() {
            assert_eq!(find(lever.name()).unwrap().summary(), lever.summary());
            assert!(
                lever.name().parse::<model::LeverSetting>().is_ok(),
                "{}",
                lever.name()
            );
        }
        assert!(find("no-such-lever").is_none());
    }

    #[test]
    fn live_levers_refuse_to_touch_a_namespace_that_is_not_ours() {
        let live: Vec<_> = all()
            .iter()
            .filter(|lever| lever.binds() == Binds::Live)
            .collect();
        assert_eq!(live.len(), 3);
        for lever in live {
            assert!(matches!(
                lever.set(None),
                Err(PlantedError::NotPrivate { .. })
            ));
            assert!(
                lever
                    .unavailable()
                    .unwrap()
                    .contains("namespace of our own")
            );
        }
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range() {
        for (name, value) in [
            ("nft-rules", 0),
            ("packet-tap", 65),
            ("conntrack", 1),
            ("split-send", 2),
        ] {
            let error = find(name).unwrap().set(Some(value)).err().unwrap();
            assert!(
                matches!(error, PlantedError::BadValue { .. }),
                "{name}: {error}"
            );
        }
    }
}
