//! Which boot this is, told from the kernel's command line and from what it says of each weakness
//! of its processor: with the step, without it, or neither.

use std::collections::BTreeMap;

use model::reboot::{Boot, Reboot};
use model::{BlockRecord, Facts, RunRecord};

use super::error::RebootError;
use crate::{confirm, plan};

/// How a kernel says that something is done about a weakness, and that nothing is.
const MITIGATED: &str = "Mitigation";
const OPEN: &str = "Vulnerable";

/// In which boot the last state is to be measured now.
#[derive(Debug, PartialEq)]
pub(super) enum Due {
    /// The boot of that place among those that were begun.
    InOld {
        boot: usize,
    },
    InNew {
        boot: Boot,
        has_step: bool,
    },
}

/// Whether a machine has what an option would take away.
///
/// # Errors
/// Why not.
pub(super) fn can_be_taken(option: &str, boot: &Boot, facts: &Facts) -> Result<(), RebootError> {
    let option = option.to_owned();
    if boot.boot_id.is_empty() {
        return Err(RebootError::NoBootId);
    }
    if boot.settles(&option) == Some(&option) {
        return Err(RebootError::AlreadyTaken { option });
    }
    let mut states = facts.mitigations.values();
    if !states.any(|state| state.starts_with(MITIGATED)) {
        return Err(RebootError::NothingToTake { option });
    }
    Ok(())
}

/// What is due in this boot; `None` where all is measured, and of a run without such a step.
///
/// # Errors
/// Why the run cannot go on in it.
pub(super) fn due(
    record: &RunRecord,
    saved: &[BlockRecord],
    facts: &Facts,
    boot: Boot,
) -> Result<Option<Due>, RebootError> {
    let Some(reboot) = &record.reboot else {
        return Ok(None);
    };
    let has_step = has_step(reboot, &record.facts, facts, &boot)?;
    let is_whole = |place: usize| {
        let rounds = plan::in_boot(record, place);
        rounds.is_none_or(|rounds| rounds.remaining(saved).is_empty())
    };
    let boots = || reboot.boots.iter().enumerate();
    let is_known = |wanted| boots().any(|(place, of)| of.has_step == wanted && is_whole(place));
    if has_step && !(confirm::is_done(record, saved) && is_known(false)) {
        return Err(RebootError::TooEarly {
            option: reboot.option.clone(),
            how: reboot.change.undo.join("; "),
        });
    }
    let how = || reboot.change.make.join("; ");
    match boots().find(|(_, of)| of.boot.boot_id == boot.boot_id) {
        Some((place, _)) if !is_whole(place) => Ok(Some(Due::InOld { boot: place })),
        Some(_) if is_known(true) => Ok(None),
        Some(_) => Err(RebootError::NotMade { how: how() }),
        None if !has_step && is_known(false) && !is_known(true) => {
            Err(not_taken(reboot, facts, &boot))
        }
        None => Ok(Some(Due::InNew { boot, has_step })),
    }
}

/// Why a machine that was rebooted for the step is without it.
fn not_taken(reboot: &Reboot, facts: &Facts, boot: &Boot) -> RebootError {
    let option = reboot.option.clone();
    match boot.overrules(&option) {
        Some(last) => RebootError::Overruled {
            last: last.to_owned(),
            option,
        },
        None => RebootError::NotTaken {
            option,
            saw: said(&facts.mitigations),
            how: reboot.change.make.join("; "),
        },
    }
}

/// Whether the step is taken in a boot, of which neither the kernel's build nor another option that
/// is told may differ from the first.
fn has_step(
    reboot: &Reboot,
    first: &Facts,
    facts: &Facts,
    boot: &Boot,
) -> Result<bool, RebootError> {
    let option = &reboot.option;
    same("the kernel", &first.kernel_release, &facts.kernel_release)?;
    let builds = (&reboot.first.kernel_build, &boot.kernel_build);
    same("the kernel's build", builds.0, builds.1)?;
    let others = |boot: &Boot| {
        let others: Vec<&str> = boot.others(option).map(String::as_str).collect();
        format!("`{}`", others.join(" "))
    };
    same("the command line", &others(&reboot.first), &others(boot))?;
    if boot.settles(option) != Some(option) {
        same_otherwise(reboot, first, facts, boot)?;
        return Ok(false);
    }
    let opened = first.mitigations.iter().any(|(weakness, before)| {
        let now = facts.mitigations.get(weakness);
        before.starts_with(MITIGATED) && now.is_some_and(|now| now.starts_with(OPEN))
    });
    if !opened {
        return Err(RebootError::NoEffect {
            option: option.clone(),
            saw: said(&facts.mitigations),
        });
    }
    Ok(true)
}

/// A boot without the step is as the first was, or it is of neither arm.
fn same_otherwise(
    reboot: &Reboot,
    first: &Facts,
    facts: &Facts,
    boot: &Boot,
) -> Result<(), RebootError> {
    let settles = |boot: &Boot| format!("`{}`", boot.settles(&reboot.option).unwrap_or_default());
    let place = format!("what stands for `{}`", reboot.option);
    same(&place, &settles(&reboot.first), &settles(boot))?;
    let all = first.mitigations.keys().chain(facts.mitigations.keys());
    for weakness in all {
        let state = |facts: &Facts| {
            let state = facts.mitigations.get(weakness);
            format!("`{}`", state.map_or("absent", String::as_str))
        };
        same(weakness, &state(first), &state(facts))?;
    }
    Ok(())
}

fn same(what: &str, was: &str, now: &str) -> Result<(), RebootError> {
    if was == now {
        return Ok(());
    }
    Err(RebootError::OtherBoot {
        what: what.to_owned(),
        was: was.to_owned(),
        now: now.to_owned(),
    })
}

/// What the files say of the weaknesses that something is done about.
fn said(weaknesses: &BTreeMap<String, String>) -> String {
    let mitigated = weaknesses
        .iter()
        .filter(|(_, state)| state.starts_with(MITIGATED));
    let words = mitigated.map(|(weakness, state)| format!("{weakness} says \"{state}\""));
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        return "none says \"Mitigation\"".to_owned();
    }
    words.join(", ")
}
