//! Checks the levers of a study against those that this version knows.

use model::Study;
use model::lever::{LeverSetting, LeverShape};

use super::nearest::did_you_mean;
use super::sense::{Sense, place};

/// Checks that every lever is known and accepts its value. Levers that are taken away need no check
/// here, because an earlier arm added them.
pub(super) fn check(study: &Study, known: &[LeverShape]) -> Sense {
    check_list(&study.baseline.levers, &place!["baseline", "levers"], known)?;
    if let Some(whole) = &study.whole {
        check_list(&whole.levers, &place!["whole", "levers"], known)?;
    }
    for (index, step) in study.steps.iter().enumerate() {
        check_list(&step.add, &place!["step", index, "add"], known)?;
    }
    Ok(())
}

fn check_list(levers: &[LeverSetting], above: &[String], known: &[LeverShape]) -> Sense {
    for (index, lever) in levers.iter().enumerate() {
        if let Some(what) = wrong(lever, known) {
            return Err(([above, &place![index]].concat(), what));
        }
    }
    Ok(())
}

fn wrong(lever: &LeverSetting, known: &[LeverShape]) -> Option<String> {
    match known.iter().find(|shape| shape.name == lever.name) {
        Some(shape) if shape.takes(lever.value.as_deref()) => None,
        Some(shape) => Some(format!("`{lever}` cannot be set; expected {shape}")),
        None => {
            let names = || known.iter().map(|shape| shape.name);
            let meant = did_you_mean(&lever.name, names());
            let all: Vec<&str> = names().collect();
            let all = all.join(", ");
            Some(format!(
                "there is no lever `{}`; expected one of {all}{meant}",
                lever.name.escape_debug()
            ))
        }
    }
}
