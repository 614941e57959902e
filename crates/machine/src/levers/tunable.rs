//! Levers that set knobs of one kind to one value.

use serde::Deserialize;

use super::places::{self, shown};
use super::share::Share;
use super::{Accepts, Knob, Lever, Obstacle, Places, Plan, Reading, Site, Step, Value};
use super::{interrupts, lost_for_good, overruled, spread};

/// The knobs of a lever, and the values that they accept.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tunable {
    pub(super) places: Places,
    pub(super) accepts: Accepts,
    pub(super) advised: Advised,
}

/// The value that is set if none is typed.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Advised {
    Value(String),
    /// The current value, or this number if the current value is lower.
    AtLeast(i64),
    /// No value is right everywhere, for this reason.
    Depends(String),
    /// The current value, or a share of the memory if the current value is lower.
    AtLeastShare(Share),
}

impl Tunable {
    pub(super) fn read(&self, site: &Site) -> Result<Reading, Obstacle> {
        let held = self.places.held(site)?;
        let is_recommended = self.recommended(site).map(|recommended| {
            let is_it = |(knob, value): &(Knob, Value)| {
                knob.parse_typed(&recommended).as_ref() == Some(value)
            };
            held.iter().all(is_it)
        });
        Ok(Reading {
            now: shown(&held),
            is_recommended,
        })
    }

    pub(super) fn plan(
        &'static self,
        lever: &'static Lever,
        site: &Site,
        value: Option<&str>,
    ) -> Result<Plan, Obstacle> {
        let held = self.places.held(site)?;
        stay_set(&held, site)?;
        let typed = match value {
            Some(value) => value.to_owned(),
            None => self
                .recommended(site)
                .ok_or_else(|| self.no_value(lever, site))?,
        };
        let values = self.values(&held, site, &typed);
        let steps = held.into_iter().zip(values).map(|((knob, old), typed)| {
            overruled::check(&knob, &site.tree)?;
            let new = match typed {
                Some(typed) => self.checked(lever, site, &knob, &typed)?,
                None => old.clone(),
            };
            let follows = false;
            Ok(Step {
                knob,
                old,
                new,
                follows,
            })
        });
        let mut steps = steps.collect::<Result<Vec<_>, Obstacle>>()?;
        steps.retain(|step| step.old != step.new);
        for step in &steps {
            if let Some(lost) = lost_for_good::by(step, &site.tree) {
                return Err(Obstacle::Other(format!(
                    "{} is left as it is: {lost}, and an undo would not bring that back",
                    step.knob
                )));
            }
        }
        let followers = followers(&steps, site)?;
        steps.splice(..0, followers);
        Ok(Plan {
            lever: &lever.name,
            is_on_trial: lever.is_on_trial(),
            steps,
        })
    }

    /// Returns the value of each knob, from what is typed for all of them; `None` for a knob that
    /// stays as it is.
    fn values(&self, held: &[(Knob, Value)], site: &Site, typed: &str) -> Vec<Option<String>> {
        match self.accepts.spread_over(site, typed) {
            Some(cpus) => spread::over(held, site, &cpus),
            None => vec![Some(typed.to_owned()); held.len()],
        }
    }

    pub(super) fn may_set(&self, site: &Site) -> Result<(), Obstacle> {
        let held = self.places.held(site)?;
        stay_set(&held, site)?;
        held.iter().try_for_each(|(knob, _)| {
            overruled::check(knob, &site.tree)?;
            let opened = knob.may_write(&site.tree);
            opened.map_err(|error| Obstacle::of(knob, &error))
        })
    }

    pub(super) fn recommended(&self, site: &Site) -> Option<String> {
        let least = match &self.advised {
            Advised::Value(value) => return Some(value.clone()),
            Advised::Depends(_) => return None,
            Advised::AtLeast(least) => *least,
            Advised::AtLeastShare(share) => share.units(&site.tree)?,
        };
        Some(self.number(site)?.max(least).to_string())
    }

    pub(super) fn other_values(&'static self, lever: &'static Lever, site: &Site) -> Vec<String> {
        let mut values = match self.recommended(site) {
            Some(value) => vec![value],
            None => self.accepts.few(&site.tree),
        };
        let changes = |value: &String| {
            let plan = self.plan(lever, site, Some(value));
            plan.is_ok_and(|plan| !plan.steps.is_empty())
        };
        values.retain(changes);
        values
    }

    /// The value of the only knob; `None` if there are several, or the value is not a number.
    fn number(&self, site: &Site) -> Option<i64> {
        match self.places.held(site).ok()?.as_slice() {
            [(_, Value::Number(number))] => Some(*number),
            _ => None,
        }
    }

    fn checked(
        &self,
        lever: &'static Lever,
        site: &Site,
        knob: &Knob,
        typed: &str,
    ) -> Result<Value, Obstacle> {
        let value = knob.parse_typed(typed);
        let is_absurd = value.is_some() && lever.worst.locks_out();
        let value = value.filter(|value| self.accepts.takes(&site.tree, knob, value));
        value.ok_or_else(|| {
            let taken = self.accepts.words_for(site, knob);
            let worst = lever.worst.how();
            let reason = if is_absurd {
                format!(" (at worst: {worst})")
            } else {
                String::new()
            };
            Obstacle::BadValue {
                lever: &lever.name,
                value: typed.to_owned(),
                expected: taken + &reason,
            }
        })
    }

    fn no_value(&'static self, lever: &'static Lever, site: &Site) -> Obstacle {
        let why = match &self.advised {
            Advised::Depends(why) => why,
            _ => "none could be determined for this machine",
        };
        Obstacle::NoValue {
            lever: &lever.name,
            why,
            expected: self.accepts.words_at(site),
        }
    }
}

/// The knobs that the kernel will move along with these steps, with their current values.
fn followers(steps: &[Step], site: &Site) -> Result<Vec<Step>, Obstacle> {
    let of_queues = match steps.iter().any(|step| step.knob.is_of_both_ways()) {
        true => places::of_queues(site),
        false => Vec::new(),
    };
    let knobs = steps.iter().filter_map(|step| step.knob.follower());
    let follower = |knob: Knob| {
        let held = knob.read(&site.tree);
        let old = held.map_err(|error| Obstacle::of(&knob, &error))?;
        Ok(Step {
            knob,
            new: old.clone(),
            old,
            follows: true,
        })
    };
    knobs.chain(of_queues).map(follower).collect()
}

/// Checks that nobody else changes what is set here.
///
/// # Errors
/// Names who would set it to something else.
fn stay_set(held: &[(Knob, Value)], site: &Site) -> Result<(), Obstacle> {
    let numbers = held.iter().filter_map(|(knob, _)| match knob {
        Knob::Interrupt { number, .. } => Some(*number),
        _ => None,
    });
    let numbers: Vec<u32> = numbers.collect();
    interrupts::stay_where_they_are_put(&site.tree, &numbers)
}
