//! What no field shows by itself: whether the fields of a study agree with one another.

use std::collections::HashSet;

use model::Study;
use model::lever::LeverSetting;
use model::rig::RigKind;
use model::study::{DesignKind, SERVE, StepSpec};

use crate::arms::{BASELINE, CONTROL, FLOOR};

/// A field, as keys and as numbers into lists, and what is wrong with it.
pub(super) type Complaint = (Vec<String>, String);

/// The first fields that contradict one another.
pub(super) fn complaint(study: &Study) -> Option<Complaint> {
    threads(study)
        .or_else(|| workers(study))
        .or_else(|| link(study))
        .or_else(|| twice(&study.baseline.levers).map(at(&["baseline", "levers"])))
        .or_else(|| twice(&study.first_levers()).map(at(&["whole", "levers"])))
        .or_else(|| baseline(study))
        .or_else(|| steps(study))
        .or_else(|| whole(study))
}

/// Only a ladder has a whole, and each of its pairs is of two steps.
fn whole(study: &Study) -> Option<Complaint> {
    let whole = study.whole.as_ref()?;
    if study.design.kind != DesignKind::Ladder {
        let what = "only a ladder has one; expected design.kind = \"ladder\"";
        return Some(at(&["whole"])(what.to_owned()));
    }
    let mut pairs = whole.together.iter().enumerate();
    pairs.find_map(|(index, pair)| {
        let wrong = if pair[0] == pair[1] {
            format!("`{}` stands twice", pair[0])
        } else if whole.together[..index].contains(pair) {
            format!("`{}` and `{}` stand there before", pair[0], pair[1])
        } else {
            return None;
        };
        let what = format!("{wrong}; expected the names of two steps");
        Some(at(&["whole", "together", &index.to_string()])(what))
    })
}

/// A link can be had, and between hosts that it can be put between.
fn link(study: &Study) -> Option<Complaint> {
    let link = study.link.as_ref()?;
    let no_place = (study.rig != RigKind::Netns).then(|| {
        format!(
            "a link is emulated on the rig `netns`, and this study's is `{}`; expected \
             rig = \"netns\"",
            study.rig.name()
        )
    });
    let impossible = || link.plan().err().map(|bad| bad.to_string());
    no_place.or_else(impossible).map(at(&["link"]))
}

fn threads(study: &Study) -> Option<Complaint> {
    let (threads, connections) = (study.workload.threads, study.workload.connections);
    (threads > connections).then(|| {
        let what =
            format!("{threads} threads cannot share {connections} connections; expected fewer");
        at(&["workload", "threads"])(what)
    })
}

/// Numbers of workers that are compared are the steps themselves.
fn workers(study: &Study) -> Option<Complaint> {
    let is_compared = study.workload.workers.are_compared();
    (is_compared && !study.steps.is_empty()).then(|| {
        let what = "each number is a step of its own; expected one number or \"all\", or no steps";
        at(&["workload", "workers"])(what.to_owned())
    })
}

/// Only a comparison's baseline names its program: that of a ladder is the one that is asked for.
fn baseline(study: &Study) -> Option<Complaint> {
    let is_compared = study.design.kind == DesignKind::Compare;
    (study.baseline.target.is_some() && !is_compared).then(|| {
        let what = "only a comparison's baseline has one; expected design.kind = \"compare\"";
        at(&["baseline", "target"])(what.to_owned())
    })
}

/// A step must have a name of its own, change something, take away only what is there, and add
/// only what is not.
fn steps(study: &Study) -> Option<Complaint> {
    let mut levers = study.first_levers();
    for (index, step) in study.steps.iter().enumerate() {
        let place = |field: &str| {
            let path = vec!["step".to_owned(), index.to_string(), field.to_owned()];
            move |what| (path, what)
        };
        if [BASELINE, CONTROL, FLOOR].contains(&step.name.as_str()) {
            let what = format!(
                "another arm is called `{}`; expected a name of its own",
                step.name
            );
            return Some(place("name")(what));
        }
        if step.whole && study.whole.is_none() {
            let what = "only a whole ladder climbs it, and there is none; expected a table `[whole]`, \
                        or a step without this";
            return Some(place("whole")(what.to_owned()));
        }
        if let Some((field, what)) = comparison(study, index) {
            return Some(place(field)(what));
        }
        let changed = change(&levers, step).map_err(|(field, what)| place(field)(what));
        match (changed, study.design.kind) {
            (Ok(changed), DesignKind::Ladder) => levers = changed,
            (Ok(_), DesignKind::Compare) => {}
            (Err(complaint), _) => return Some(complaint),
        }
    }
    None
}

/// Only a comparison's arms may differ in program, workers and path, and each has one of its own arms to be
/// compared with.
fn comparison(study: &Study, index: usize) -> Option<(&'static str, String)> {
    let step = &study.steps[index];
    let fields = [
        ("target", step.target.is_some()),
        ("workers", step.workers.is_some()),
        ("path", step.path.is_some()),
        ("against", step.against.is_some()),
    ];
    let (field, _) = fields.iter().find(|(_, is_there)| *is_there)?;
    if study.design.kind != DesignKind::Compare {
        let what = "only a comparison's steps have one; expected design.kind = \"compare\"";
        return Some((field, what.to_owned()));
    }
    let program = study.baseline.target.as_deref().unwrap_or(SERVE);
    if step.target.as_deref() == Some(program) && !is_asked_otherwise(step) && !sets_levers(step) {
        let what = format!(
            "`{program}` is the baseline's, so `{}` changes nothing; expected another, or a `path` \
             or levers beside it",
            step.name
        );
        return Some(("target", what));
    }
    let against = step.against.as_ref()?;
    let before = study.steps[..index].iter().map(|step| &step.name);
    let names: Vec<&str> = before.map(String::as_str).collect();
    (!names.contains(&against.as_str())).then(|| {
        let expected = format!("expected one of the steps before it: {}", names.join(", "));
        (
            "against",
            format!("there is no step `{against}` before it; {expected}"),
        )
    })
}

/// Whether it is another request, or of another number of workers.
fn is_asked_otherwise(step: &StepSpec) -> bool {
    step.path.is_some() || step.workers.is_some()
}

fn sets_levers(step: &StepSpec) -> bool {
    !step.add.is_empty() || !step.take_away.is_empty()
}

/// The levers of an arm after one of its steps.
fn change(
    before: &[LeverSetting],
    step: &StepSpec,
) -> Result<Vec<LeverSetting>, (&'static str, String)> {
    if !sets_levers(step) && step.target.is_none() && !is_asked_otherwise(step) {
        let what = format!(
            "`{}` changes nothing; expected `add` or `take_away`, or of a comparison `target`, `workers` or \
             `path`",
            step.name
        );
        return Err(("name", what));
    }
    let mut levers = before.to_vec();
    for lever in &step.take_away {
        let there = levers.iter().position(|held| held == lever);
        let place = there.ok_or_else(|| ("take_away", not_there(lever, &levers)))?;
        levers.remove(place);
    }
    // A lever that is on goes on with the value that the step gives it.
    levers.retain(|held| {
        let again = |added: &LeverSetting| added.name == held.name && added != held;
        !step.add.iter().any(again)
    });
    levers.extend(step.add.iter().cloned());
    match twice(&levers) {
        Some(what) => Err(("add", what)),
        None => Ok(levers),
    }
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

/// A lever has one value at a time.
fn twice(levers: &[LeverSetting]) -> Option<String> {
    let mut seen = HashSet::new();
    let lever = levers.iter().find(|lever| !seen.insert(&lever.name))?;
    Some(format!(
        "`{}` would be on twice; expected each lever once in an arm",
        lever.name
    ))
}

fn at(path: &[&str]) -> impl FnOnce(String) -> Complaint {
    let path = path.iter().map(|key| (*key).to_owned()).collect();
    move |what| (path, what)
}
