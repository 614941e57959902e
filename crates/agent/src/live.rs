//! The levers that bind at once: flipped between blocks so that exactly those of the arm are on.

use machine::levers::carry::{self, Undone};
use machine::planted::{Held, Planted, PlantedError, SetLever, Wanted};
use model::Binds;
use model::failure::Failure;
use model::lever::{Leave, LeverSetting, LeverState};

/// The live levers that are on now, in the order in which they were put on: one may stand upon another,
/// so the last comes off first. Dropping it takes them all off.
#[derive(Default)]
pub(crate) struct LiveLevers {
    /// How far they may reach.
    pub(crate) leave: Leave,
    /// Those of the server, a worker on each.
    cpus: Vec<usize>,
    on: Vec<(LeverSetting, AnyHeld)>,
}

type AnyHeld = Box<dyn Held + Send>;

impl LiveLevers {
    /// Has those on that are wanted, in their order.
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

    /// What both begin with stays. The rest comes off from the last one down, and what is wanted
    /// goes on in its place: one that stood upon another may not stay while that goes.
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

    /// Whether each setting can be had here, and in the blocks to come: those of the first state by
    /// themselves, the others upon them. In the blocks to come too, the server has a worker on each of these CPUs.
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

    /// Looks again whether every lever that is on still holds.
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

/// Puts back what a study has set on this machine that was killed: every arm would be measured with
/// it.
fn put_back_leftovers() -> Result<(), Failure> {
    let undo = || carry::undo_leftovers(sys::clock::since_boot_ms());
    let Ok(outcome) = machine::namespace::in_the_machines(undo) else {
        // Whoever may not go there sets nothing there either: each lever says so itself.
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
        what: format!("what was to be put back by itself is still set: {what}"),
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

/// Whether a setting can be had here; `None` of what this version does not know.
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

/// Whether it is put on in an arm's blocks: each has connections of its own, made after it is on.
pub(crate) fn is_of_blocks(binds: Binds) -> bool {
    matches!(binds, Binds::Live | Binds::Connect)
}

/// Those of the first state that stand while another setting is tried, in whose place another value
/// of the same lever would not be.
fn beside(setting: &LeverSetting, first: &[LeverState]) -> Vec<LeverSetting> {
    let stands = |state: &&LeverState| {
        is_of_blocks(state.binds)
            && state.unavailable.is_none()
            && state.setting.name != setting.name
    };
    let standing = first.iter().filter(stands);
    standing.map(|state| state.setting.clone()).collect()
}

/// A lever that would not.
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

    /// What becoming these took.
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
