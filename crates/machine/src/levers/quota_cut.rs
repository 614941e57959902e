//! The CPU quota of a program's control group, lowered for moments to see what that changes. Nobody
//! can set it as a lever. It is put back like the levers that a study holds.

use sys::cgroup::Hierarchy;

use super::carry::{CarryError, Held};
use super::{GroupFolder, Knob, Plan, QuotaFile, Site, Step, Value};
use crate::instruments::counters::group_of;

/// The name under which the journal records it.
pub(super) const NAME: &str = "cpu-quota-trial";

/// A quota that stays lowered until this is dropped or our process is gone.
#[derive(Debug)]
pub struct QuotaCut {
    held: Held,
    cut: f64,
}

impl QuotaCut {
    /// Lowers the quota that limits these processes by a part of it, 0 to 1. `None` if they have no
    /// quota, or somebody else controls it.
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

    /// Puts the quota back. Returns the part by which it was lowered, 0 to 1.
    ///
    /// # Errors
    /// If the journal cannot be read or written. The journal then still holds the change.
    pub fn end(self) -> Result<f64, CarryError> {
        self.held.put_back()?;
        Ok(self.cut)
    }
}

/// Returns the quota lowered by the part, µs, and the part by which it is really lower: they
/// differ, since the quota is in whole µs. `None` below 1 ms, since the kernel accepts no lower
/// quota.
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
        // No quota, and one that would become too small.
        assert_eq!(of(&Value::Number(-1)), None);
        assert_eq!(of(&both(1050)), None);
    }
}
