//! Tells from the kernel's command line, and from what it says about each weakness of its
//! processor, which boot this is: with the step, without it, or neither.

use std::collections::BTreeMap;

use model::reboot::{Boot, Reboot};
use model::{BlockRecord, Facts, RunRecord};

use crate::{confirm, plan};

/// How the kernel says that a weakness is mitigated, and that it is open.
const MITIGATED: &str = "Mitigation";
const OPEN: &str = "Vulnerable";

/// Why a run with a step that needs a reboot cannot begin, or cannot continue in this boot.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RebootError(pub(super) String);

/// The boot in which the last state is to be measured now.
#[derive(Debug, PartialEq)]
pub(super) enum Due {
    /// A boot in which measuring has begun, by its index.
    InOld {
        boot: usize,
    },
    InNew {
        boot: Boot,
        has_step: bool,
    },
}

/// Checks whether the machine has what an option would take away.
///
/// # Errors
/// Why it has not.
pub(super) fn can_be_taken(option: &str, boot: &Boot, facts: &Facts) -> Result<(), RebootError> {
    let why = if boot.boot_id.is_empty() {
        "this machine does not tell one boot from another: /proc/sys/kernel/random/boot_id cannot \
         be read; run the study without `--reboot`"
            .to_owned()
    } else if boot.settles(option).is_some_and(|word| word == option) {
        format!(
            "the kernel was started with `{option}` already, and the ladder begins without it; take it \
             out of the command line and reboot, or run the study without `--reboot`"
        )
    } else if !facts
        .mitigations
        .values()
        .any(|state| state.starts_with(MITIGATED))
    {
        format!(
            "`{option}` would change nothing here: no file of /sys/devices/system/cpu/vulnerabilities \
             says \"Mitigation\"; run the study without `--reboot`"
        )
    } else {
        return Ok(());
    };
    Err(RebootError(why))
}

/// Returns the boot that is due; `None` if all is measured, or if the run has no such step.
///
/// # Errors
/// Why the run cannot continue in this boot.
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
        return Err(RebootError(format!(
            "the kernel was started with `{}` before the last state was measured without it; {}, \
             reboot, and resume the run then",
            reboot.option,
            reboot.change.undo.join("; ")
        )));
    }
    match boots().find(|(_, of)| of.boot.boot_id == boot.boot_id) {
        Some((place, _)) if !is_whole(place) => Ok(Some(Due::InOld { boot: place })),
        Some(_) if is_known(true) => Ok(None),
        Some(_) => Err(RebootError(format!(
            "the reboot has not been made: this is still the boot in which the last state was measured; \
             {}, reboot, and resume the run then",
            reboot.change.make.join("; ")
        ))),
        None if !has_step && is_known(false) && !is_known(true) => {
            Err(not_taken(reboot, facts, &boot))
        }
        None => Ok(Some(Due::InNew { boot, has_step })),
    }
}

/// Says why the step has no effect on a machine that was rebooted for it.
fn not_taken(reboot: &Reboot, facts: &Facts, boot: &Boot) -> RebootError {
    let option = &reboot.option;
    let begin = "the machine was rebooted, but the step was not taken: /proc/cmdline has";
    RebootError(match boot.overrules(option) {
        Some(last) => format!(
            "{begin} `{option}`, and after it `{last}`, which overrules it; take that out, reboot, and \
             resume the run then"
        ),
        None => format!(
            "{begin} no `{option}`, and {}; {}, reboot, and resume the run then",
            said(&facts.mitigations),
            reboot.change.make.join("; ")
        ),
    })
}

/// Whether the step has effect in a boot. Neither the kernel's build nor any other option of its
/// command line may differ from the first boot.
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
        return Err(RebootError(format!(
            "the command line has `{option}`, but the step was not taken: no weakness \
             went from \"Mitigation\" to \"Vulnerable\" in /sys/devices/system/cpu/vulnerabilities, \
             {}; see that the kernel and its hypervisor heed the option",
            said(&facts.mitigations)
        )));
    }
    Ok(true)
}

/// Checks that a boot without the step is like the first boot; otherwise it belongs to neither arm.
fn same_otherwise(
    reboot: &Reboot,
    first: &Facts,
    facts: &Facts,
    boot: &Boot,
) -> Result<(), RebootError> {
    let settles = |boot: &Boot| format!("`{}`", boot.settles(&reboot.option).unwrap_or_default());
    let place = format!("the setting in place of `{}`", reboot.option);
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
    Err(RebootError(format!(
        "the reboot changed more than the step: {what} was {was} and is now {now}; boot the machine \
         as it was, or run the study again"
    )))
}

/// Says which weaknesses the files report as mitigated.
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
