//! Checks what no single field shows: whether the fields of a study agree with one another.

use std::collections::HashSet;

use model::Study;
use model::lever::LeverSetting;
use model::rig::RigKind;
use model::study::{DesignKind, SERVE, StepSpec};

use crate::arms::{BASELINE, CONTROL, FLOOR};

/// A field, as keys and indices into lists, and what is wrong with it.
pub(crate) type Complaint = (Vec<String>, String);

/// The result of a check: the first field that makes no sense, if there is one.
pub(crate) type Sense = Result<(), Complaint>;

/// Builds a field from its keys and its indices into lists.
macro_rules! place {
    ($($key:expr),+) => { Vec::from([$($key.to_string()),+]) };
}
pub(crate) use place;

/// Complains about a field unless `holds` is true.
pub(crate) fn must(holds: bool, place: Vec<String>, what: impl FnOnce() -> String) -> Sense {
    if holds { Ok(()) } else { Err((place, what())) }
}

/// Checks that no fields contradict one another.
pub(super) fn check(study: &Study) -> Sense {
    threads(study)?;
    workers(study)?;
    link(study)?;
    once(&study.baseline.levers, place!["baseline", "levers"])?;
    once(&study.first_levers(), place!["whole", "levers"])?;
    let has_target = study.baseline.target.is_some();
    only_in_comparison(study, has_target, "baseline", place!["baseline", "target"])?;
    steps(study)?;
    whole(study)
}

/// Checks the table `[whole]`: only a ladder may have it, and each of its pairs is of two steps.
fn whole(study: &Study) -> Sense {
    let Some(whole) = &study.whole else {
        return Ok(());
    };
    let is_ladder = study.design.kind == DesignKind::Ladder;
    must(is_ladder, place!["whole"], || {
        "only a ladder has one; expected design.kind = \"ladder\"".to_owned()
    })?;
    for (index, pair) in whole.together.iter().enumerate() {
        let place = place!["whole", "together", index];
        let [one, other] = pair;
        must(one != other, place.clone(), || {
            format!("`{one}` is named twice; expected the names of two steps")
        })?;
        must(!whole.together[..index].contains(pair), place, || {
            format!("`{one}` and `{other}` are listed before; expected the names of two steps")
        })?;
    }
    Ok(())
}

/// Checks that the link can be emulated, and that the rig has hosts to put it between.
fn link(study: &Study) -> Sense {
    let Some(link) = &study.link else {
        return Ok(());
    };
    must(study.rig == RigKind::Netns, place!["link"], || {
        format!(
            "a link is emulated on the rig `netns`, and this study's is `{}`; expected \
             rig = \"netns\"",
            study.rig.name()
        )
    })?;
    let planned = link.plan();
    planned.map_or_else(|bad| Err((place!["link"], bad.to_string())), |_| Ok(()))
}

fn threads(study: &Study) -> Sense {
    let (threads, connections) = (study.workload.threads, study.workload.connections);
    must(
        threads <= connections,
        place!["workload", "threads"],
        || format!("{threads} threads cannot share {connections} connections; expected fewer"),
    )
}

/// Checks the workers: numbers that are compared become the steps, so the study may have no steps
/// of its own.
fn workers(study: &Study) -> Sense {
    let is_compared = study.workload.workers.are_compared();
    must(
        !is_compared || study.steps.is_empty(),
        place!["workload", "workers"],
        || {
            "each number is a step of its own; expected one number or \"all\", or no steps"
                .to_owned()
        },
    )
}

/// Checks a field that only a comparison may have. The program of a ladder is given on the command
/// line.
fn only_in_comparison(study: &Study, is_there: bool, whose: &str, place: Vec<String>) -> Sense {
    let is_compared = study.design.kind == DesignKind::Compare;
    must(is_compared || !is_there, place, || {
        let has = if whose == "baseline" { "has" } else { "have" };
        format!("only a comparison's {whose} {has} one; expected design.kind = \"compare\"")
    })
}

/// Checks the steps: each must have a name of its own, change something, take away only levers that
/// are set, and add only levers that are not.
fn steps(study: &Study) -> Sense {
    let mut levers = study.first_levers();
    for (index, step) in study.steps.iter().enumerate() {
        let is_ours = [BASELINE, CONTROL, FLOOR].contains(&step.name.as_str());
        must(!is_ours, place!["step", index, "name"], || {
            let name = &step.name;
            format!("another arm is called `{name}`; expected a name of its own")
        })?;
        let is_climbed = !step.whole || study.whole.is_some();
        must(is_climbed, place!["step", index, "whole"], || {
            "only a whole ladder climbs it, and there is none; expected a table `[whole]`, \
             or a step without this"
                .to_owned()
        })?;
        comparison(study, index)?;
        let changed = change(&levers, step, index)?;
        if study.design.kind == DesignKind::Ladder {
            levers = changed;
        }
    }
    Ok(())
}

/// Checks a step's fields for comparisons. Only the arms of a comparison may differ in program,
/// workers and path, or name another step that they are compared with.
fn comparison(study: &Study, index: usize) -> Sense {
    let step = &study.steps[index];
    for (field, is_there) in [
        ("target", step.target.is_some()),
        ("workers", step.workers.is_some()),
        ("path", step.path.is_some()),
        ("against", step.against.is_some()),
    ] {
        only_in_comparison(study, is_there, "steps", place!["step", index, field])?;
    }
    let program = study.baseline.target.as_deref().unwrap_or(SERVE);
    let is_another = step.target.as_deref() != Some(program);
    must(
        is_another || changes_path_or_workers(step) || sets_levers(step),
        place!["step", index, "target"],
        || {
            format!(
                "`{program}` is the baseline's, so `{}` changes nothing; expected another, or a `path` \
                 or levers beside it",
                step.name
            )
        },
    )?;
    let Some(against) = &step.against else {
        return Ok(());
    };
    let before = study.steps[..index].iter().map(|step| step.name.as_str());
    let names: Vec<&str> = before.collect();
    must(
        names.contains(&against.as_str()),
        place!["step", index, "against"],
        || {
            let (names, against) = (names.join(", "), against.escape_debug());
            format!(
                "there is no step `{against}` before it; expected one of the steps before it: {names}"
            )
        },
    )
}

/// Whether the step sends another request, or has another number of workers.
fn changes_path_or_workers(step: &StepSpec) -> bool {
    step.path.is_some() || step.workers.is_some()
}

fn sets_levers(step: &StepSpec) -> bool {
    !step.add.is_empty() || !step.take_away.is_empty()
}

/// Returns the levers of an arm after one of its steps.
fn change(
    before: &[LeverSetting],
    step: &StepSpec,
    index: usize,
) -> Result<Vec<LeverSetting>, Complaint> {
    let changes = sets_levers(step) || step.target.is_some() || changes_path_or_workers(step);
    must(changes, place!["step", index, "name"], || {
        format!(
            "`{}` changes nothing; expected `add` or `take_away`, or of a comparison `target`, `workers` or \
             `path`",
            step.name
        )
    })?;
    let mut levers = before.to_vec();
    for lever in &step.take_away {
        let there = levers.iter().position(|held| held == lever);
        let not_there = || {
            (
                place!["step", index, "take_away"],
                not_there(lever, &levers),
            )
        };
        levers.remove(there.ok_or_else(not_there)?);
    }
    // A lever that is already set takes the value that the step gives it.
    levers.retain(|held| {
        let again = |added: &LeverSetting| added.name == held.name && added != held;
        !step.add.iter().any(again)
    });
    levers.extend(step.add.iter().cloned());
    once(&levers, place!["step", index, "add"])?;
    Ok(levers)
}

fn not_there(lever: &LeverSetting, levers: &[LeverSetting]) -> String {
    let there: Vec<String> = levers.iter().map(|held| format!("`{held}`")).collect();
    let expected = if there.is_empty() {
        "none, because the arm it is measured against has no levers".to_owned()
    } else {
        format!(
            "one of the levers of the arm it is measured against: {}",
            there.join(", ")
        )
    };
    format!("`{lever}` cannot be taken away; expected {expected}")
}

/// Checks that each lever has only one value.
fn once(levers: &[LeverSetting], place: Vec<String>) -> Sense {
    let mut seen = HashSet::new();
    let twice = levers.iter().find(|lever| !seen.insert(&lever.name));
    twice.map_or(Ok(()), |lever| {
        let name = &lever.name;
        let what = format!("`{name}` would be on twice; expected each lever once in an arm");
        Err((place, what))
    })
}
