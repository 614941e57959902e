//! The CPU quota of a program's control group, lowered for moments to see what that changes. It is no lever that anybody
//! may set, and goes back as those do that a study holds.

use sys::cgroup::Hierarchy;

use super::carry::{CarryError, Held};
use super::{GroupFolder, Knob, Plan, QuotaFile, Site, Step, Value};
use crate::instruments::counters::group_of;

/// By which the journal knows it.
pub(super) const NAME: &str = "cpu-quota-trial";

/// A quota that is lowered, until this is dropped or we are gone.
#[derive(Debug)]
pub struct QuotaCut {
    held: Held,
    cut: f64,
}

impl QuotaCut {
    /// Takes such a part of the quota that binds these processes, 0 to 1. `None` where they have none, or it is in the
    /// hands of somebody else.
    pub fn begin(pids: &[u32], part: f64) -> Option<Self> {
        let site = Site::here(None);
        let group = group_of(pids)?;
        let knob = Knob::Quota {
            group: GroupFolder::of(group.folder_of_quota()?)?,
            file: match group.version() {
                Hierarchy::One => QuotaFile::One,
                Hierarchy::Two => QuotaFile::Two,
            },
        };
        let old = knob.read(&site.tree).ok()?;
        let (new, cut) = lowered(&old, part)?;
        let plan = Plan {
            lever: NAME,
            is_on_trial: false,
            steps: vec![Step {
                knob,
                old,
                new,
                follows: false,
            }],
        };
        let held = Held::on_the_host(&plan, &site).ok()?;
        Some(Self { held, cut })
    }

    /// Puts it back; the part that was taken, 0 to 1.
    ///
    /// # Errors
    /// When the journal cannot be read or written, which then still knows it.
    pub fn end(self) -> Result<f64, CarryError> {
        self.held.put_back()?;
        Ok(self.cut)
    }
}

/// The quota with so much less, µs, and the part that it is less by: whole µs make it another. The kernel takes no quota
/// below 1 ms.
#[expect(clippy::cast_possible_truncation, reason = "casts of floats saturate")]
fn lowered(quota: &Value, part: f64) -> Option<(Value, f64)> {
    const LEAST_US: i64 = 1000;
    let less = |old: i64| {
        let new = (old as f64 * (1.0 - part)) as i64;
        (new >= LEAST_US).then(|| (new, 1.0 - new as f64 / old as f64))
    };
    match quota {
        Value::Number(old) => less(*old).map(|(new, cut)| (Value::Number(new), cut)),
        Value::Numbers(both) => {
            let (old, rest) = both.split_first()?;
            let (new, cut) = less(*old)?;
            Some((Value::Numbers([&[new], rest].concat()), cut))
        }
        Value::Word(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_of_either_version_is_lowered_by_a_part_and_its_period_stays() {
        let of = |quota: &Value| lowered(quota, 0.1).map(|(new, _)| new);
        assert_eq!(of(&Value::Number(30_000)), Some(Value::Number(27_000)));
        let both = |quota| Value::Numbers(vec![quota, 100_000]);
        assert_eq!(of(&both(50_000)), Some(both(45_000)));
        // None, and one that would be too small.
        assert_eq!(of(&Value::Number(-1)), None);
        assert_eq!(of(&both(1050)), None);
    }
}
