//! The levers that bind at once: flipped between blocks so that exactly those of the arm are on.

use std::collections::BTreeMap;

use machine::planted::{Held, Setting};
use model::lever::LeverSetting;
use model::message::Failure;

use crate::target::lever_failure;

/// The live levers that are on now. Dropping it takes them all off.
#[derive(Default)]
pub(crate) struct LiveLevers {
    on: BTreeMap<LeverSetting, Box<dyn Held + Send>>,
}

impl LiveLevers {
    /// Takes off what is not wanted and puts on what is missing.
    pub(crate) fn become_these(&mut self, wanted: &[LeverSetting]) -> Result<(), Failure> {
        let unwanted: Vec<LeverSetting> = self
            .on
            .keys()
            .filter(|setting| !wanted.contains(setting))
            .cloned()
            .collect();
        for setting in unwanted {
            if let Some(held) = self.on.remove(&setting) {
                held.undo()
                    .map_err(|error| lever_failure(&setting, &error))?;
            }
        }
        for setting in wanted {
            if !self.on.contains_key(setting) {
                self.on.insert(setting.clone(), put_on(setting)?);
            }
        }
        Ok(())
    }

    /// Looks again whether every lever that is on still holds.
    pub(crate) fn verify(&self) -> Result<(), Failure> {
        for (setting, held) in &self.on {
            held.verify()
                .map_err(|error| lever_failure(setting, &error))?;
        }
        Ok(())
    }
}

fn put_on(setting: &LeverSetting) -> Result<Box<dyn Held + Send>, Failure> {
    let lever = machine::planted::find(&setting.name).ok_or_else(|| no_such(setting))?;
    let held = lever
        .set(setting.value)
        .map_err(|error| lever_failure(setting, &error))?;
    match held {
        Setting::Held(held) => Ok(held),
        Setting::Child(_) | Setting::ServeArgument(_) => Err(no_such(setting)),
    }
}

fn no_such(setting: &LeverSetting) -> Failure {
    Failure {
        what: format!("there is no live lever `{setting}`"),
        advice: "`linerate study show` lists the levers a study uses".to_owned(),
    }
}
