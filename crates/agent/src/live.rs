//! The levers that bind at once: flipped between blocks so that exactly those of the arm are on.

use std::collections::BTreeMap;

use machine::levers::carry::{self, Undone};
use machine::planted::{Held, Planted, PlantedError, Setting, Wanted};
use model::lever::{LeverSetting, LeverState};
use model::message::Failure;

use crate::target::lever_failure;

/// The live levers that are on now. Dropping it takes them all off.
#[derive(Default)]
pub(crate) struct LiveLevers {
    /// Whether what reaches further than a namespace of our own may be set.
    pub(crate) on_host: bool,
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
                let held = put_on(setting, self.on_host)
                    .map_err(|error| lever_failure(setting, &error))?;
                self.on.insert(setting.clone(), held);
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

/// Puts back what a study has set on this machine that was killed: every arm would be measured with
/// it.
pub(crate) fn put_back_leftovers() -> Result<(), Failure> {
    let undo = || carry::undo_leftovers(sys::clock::since_boot_ms());
    let outcome =
        machine::namespace::in_the_machines(undo).map_err(|error| still_set(&error.to_string()))?;
    let undone = outcome.map_err(|error| still_set(&error.to_string()))?;
    let is_set = |undone: &&Undone| undone.knobs.iter().any(|(_, fate)| !fate.is_back());
    match undone.iter().find(is_set) {
        Some(undone) => Err(still_set(&undone.lever)),
        None => Ok(()),
    }
}

fn still_set(what: &str) -> Failure {
    Failure {
        what: format!("what an earlier study has set is not all put back: {what}"),
        advice: "see `linerate levers journal`, and put it back: linerate levers undo".to_owned(),
    }
}

fn put_on(setting: &LeverSetting, on_host: bool) -> Result<Box<dyn Held + Send>, PlantedError> {
    match find(setting)?.set(wanted(setting, on_host))? {
        Setting::Held(held) => Ok(held),
        Setting::Child(_) | Setting::ServeArgument(_) => {
            Err(PlantedError::Unknown(setting.to_string()))
        }
    }
}

/// The lever of a setting.
pub(crate) fn find(setting: &LeverSetting) -> Result<&'static dyn Planted, PlantedError> {
    let unknown = || PlantedError::Unknown(setting.name.clone());
    machine::planted::find(&setting.name).ok_or_else(unknown)
}

/// What a setting wants of its lever.
pub(crate) fn wanted(setting: &LeverSetting, on_host: bool) -> Wanted<'_> {
    Wanted {
        value: setting.value.as_deref(),
        on_host,
    }
}

/// Whether a setting can be had here.
pub(crate) fn state(setting: LeverSetting, on_host: bool) -> Result<LeverState, PlantedError> {
    let lever = find(&setting)?;
    let wanted = wanted(&setting, on_host);
    Ok(LeverState {
        binds: lever.binds(),
        unavailable: lever.unavailable(wanted),
        is_so: lever.is_so(wanted),
        only_serve: lever.only_serve(),
        setting,
    })
}
