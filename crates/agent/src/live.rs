//! The levers that bind at once: flipped between blocks so that exactly those of the arm are on.

use machine::levers::carry::{self, Undone};
use machine::planted::{Held, Planted, PlantedError, SetLever, Wanted};
use model::Binds;
use model::failure::Failure;
use model::lever::{Leave, LeverSetting, LeverState};

/// The live levers that are on now, in the order in which they were put on: one may build on
/// another, so the last comes off first. Dropping it takes them all off.
#[derive(Default)]
pub(crate) struct LiveLevers {
    /// How far the levers may reach.
    pub(crate) leave: Leave,
    /// The server's CPUs, with a worker on each.
    cpus: Vec<usize>,
    on: Vec<(LeverSetting, AnyHeld)>,
}

type AnyHeld = Box<dyn Held + Send>;

impl LiveLevers {
    /// Changes the levers so that exactly `these` are on, in their order.
    pub(crate) fn become_these(&mut self, these: &[LeverSetting]) -> Result<(), Failure> {
        let (leave, cpus) = (self.leave, self.cpus.clone());
        self.change_to(these, |setting| {
            put_on(
                setting,
                Wanted {
                    cpus: &cpus,
                    ..wanted(setting, leave)
                },
            )
        })
    }

    /// Keeps the levers with which both lists begin. Takes the rest off, the last one first, and
    /// puts the wanted ones on: a lever that builds on another may not stay while that one comes
    /// off.
    fn change_to(
        &mut self,
        wanted: &[LeverSetting],
        put_on: impl Fn(&LeverSetting) -> Result<AnyHeld, PlantedError>,
    ) -> Result<(), Failure> {
        let both = self.on.iter().zip(wanted);
        let kept = both.take_while(|((on, _), wanted)| on == *wanted).count();
        while self.on.len() > kept
            && let Some((setting, held)) = self.on.pop()
        {
            held.undo()
                .map_err(|error| lever_failure(&setting, &error))?;
        }
        for setting in &wanted[kept..] {
            let held = put_on(setting).map_err(|error| lever_failure(setting, &error))?;
            self.on.push((setting.clone(), held));
        }
        Ok(())
    }

    /// Whether each setting is available here. Those of the first state are tried by themselves,
    /// the others while those are on. `leave` and `cpus` also hold for the blocks to come: the
    /// server has a worker on each of these CPUs.
    pub(crate) fn states(
        &mut self,
        wanted: Vec<LeverSetting>,
        first: &[LeverSetting],
        leave: Leave,
        cpus: &[usize],
    ) -> Result<Vec<LeverState>, Failure> {
        if leave != Leave::default() {
            put_back_leftovers()?;
        }
        self.leave = leave;
        self.cpus = cpus.to_vec();
        let (first, others): (Vec<_>, Vec<_>) = wanted
            .into_iter()
            .partition(|setting| first.contains(setting));
        let state = |setting| state(setting, leave, cpus);
        let own = first.into_iter().filter_map(state);
        let own: Vec<LeverState> = own.collect();
        let mut all = own.clone();
        for setting in others {
            self.become_these(&beside(&setting, &own))?;
            all.extend(state(setting));
        }
        self.become_these(&[])?;
        Ok(all)
    }

    /// Checks that every lever that is on still holds.
    pub(crate) fn verify(&self) -> Result<(), Failure> {
        for (setting, held) in &self.on {
            held.verify()
                .map_err(|error| lever_failure(setting, &error))?;
        }
        Ok(())
    }
}

impl Drop for LiveLevers {
    fn drop(&mut self) {
        while self.on.pop().is_some() {}
    }
}

/// Puts back what a killed study left set on this machine: every arm would be measured with it.
fn put_back_leftovers() -> Result<(), Failure> {
    let undo = || carry::undo_leftovers(sys::clock::since_boot_ms());
    let Ok(outcome) = machine::namespace::in_the_machines(undo) else {
        // Where we may not enter the machine's namespace we set nothing there either: each lever
        // says so itself.
        return Ok(());
    };
    let undone = outcome.map_err(|error| still_set(&error.to_string()))?;
    let is_set = |undone: &&Undone| undone.knobs.iter().any(|(_, fate)| !fate.is_back());
    match undone.iter().find(is_set) {
        Some(undone) => Err(still_set(&undone.lever)),
        None => Ok(()),
    }
}

fn still_set(what: &str) -> Failure {
    Failure {
        what: format!("what should have been put back automatically is still set: {what}"),
        advice: "see `linerate levers journal`, and put it back: linerate levers undo".to_owned(),
    }
}

fn put_on(setting: &LeverSetting, wanted: Wanted<'_>) -> Result<AnyHeld, PlantedError> {
    match find(setting)?.set(wanted)? {
        SetLever::Held(held) => Ok(held),
        SetLever::Child(_) | SetLever::ServeArgument(_) => {
            Err(PlantedError::unknown(&setting.to_string()))
        }
    }
}

/// The lever of a setting.
pub(crate) fn find(setting: &LeverSetting) -> Result<&'static dyn Planted, PlantedError> {
    let unknown = || PlantedError::unknown(&setting.name);
    machine::planted::find(&setting.name).ok_or_else(unknown)
}

/// What a setting wants of its lever.
pub(crate) fn wanted(setting: &LeverSetting, leave: Leave) -> Wanted<'_> {
    Wanted {
        value: setting.value.as_deref(),
        leave,
        cpus: &[],
    }
}

/// Whether a setting is available here; `None` for a lever that this version does not know.
fn state(setting: LeverSetting, leave: Leave, cpus: &[usize]) -> Option<LeverState> {
    let lever = find(&setting).ok()?;
    let wanted = Wanted {
        cpus,
        ..wanted(&setting, leave)
    };
    Some(LeverState {
        binds: lever.binds(),
        unavailable: lever.unavailable(wanted),
        is_so: lever.is_so(wanted),
        only_serve: lever.only_serve(),
        setting,
    })
}

/// Whether such a lever is put on for an arm's blocks: each block opens its own connections after
/// the lever is on.
pub(crate) fn is_of_blocks(binds: Binds) -> bool {
    matches!(binds, Binds::Live | Binds::Connect)
}

/// The settings of the first state that are on while another setting is tried. A value of the same
/// lever is not among them, since the tried one takes its place.
fn beside(setting: &LeverSetting, first: &[LeverState]) -> Vec<LeverSetting> {
    let stands = |state: &&LeverState| {
        is_of_blocks(state.binds)
            && state.unavailable.is_none()
            && state.setting.name != setting.name
    };
    let standing = first.iter().filter(stands);
    standing.map(|state| state.setting.clone()).collect()
}

/// The failure of a lever.
pub(crate) fn lever_failure(setting: &LeverSetting, error: &PlantedError) -> Failure {
    Failure::plain(format!("lever `{setting}`: {error}"))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What was put on and taken off, as `+one` and `-one`.
    type Log = Arc<Mutex<Vec<String>>>;

    struct Fake {
        name: String,
        log: Log,
    }

    impl Held for Fake {
        fn verify(&self) -> Result<(), PlantedError> {
            Ok(())
        }

        fn undo(self: Box<Self>) -> Result<(), PlantedError> {
            self.log.lock().unwrap().push(format!("-{}", self.name));
            Ok(())
        }
    }

    /// The changes that were made to get the wanted levers.
    fn become_fakes(live: &mut LiveLevers, log: &Log, wanted: &[&str]) -> Vec<String> {
        let wanted: Vec<LeverSetting> = wanted.iter().map(|name| name.parse().unwrap()).collect();
        let put_on = |setting: &LeverSetting| -> Result<AnyHeld, PlantedError> {
            let name = setting.to_string();
            log.lock().unwrap().push(format!("+{name}"));
            let log = Arc::clone(log);
            Ok(Box::new(Fake { name, log }))
        };
        live.change_to(&wanted, put_on).unwrap();
        let on: Vec<&LeverSetting> = live.on.iter().map(|(setting, _)| setting).collect();
        assert_eq!(on, wanted.iter().collect::<Vec<_>>());
        std::mem::take(&mut *log.lock().unwrap())
    }

    #[test]
    fn levers_stand_upon_one_another_in_the_order_that_is_wanted() {
        let (mut live, log) = (LiveLevers::default(), Log::default());
        let mut become_these = |wanted: &[&str]| become_fakes(&mut live, &log, wanted);
        assert_eq!(become_these(&["a", "b"]), ["+a", "+b"]);
        assert_eq!(become_these(&["b"]), ["-b", "-a", "+b"]);
        assert_eq!(become_these(&["a", "b"]), ["-b", "+a", "+b"]);
        assert_eq!(become_these(&["a", "b", "c"]), ["+c"]);
        assert_eq!(become_these(&["a"]), ["-c", "-b"]);
    }
}
