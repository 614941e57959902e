//! Holds the levers of a study against those that this version knows.

use model::Study;
use model::lever::{LeverSetting, LeverShape};

use super::nearest::did_you_mean;
use super::sense::Complaint;

/// The first lever that is unknown, or has a value that it does not take.
pub(super) fn complaint(study: &Study, known: &[LeverShape]) -> Option<Complaint> {
    let places = lists(study).into_iter().flat_map(|(path, levers)| {
        let here = move |(index, lever)| ([path.clone(), vec![index]].concat(), lever);
        (0..)
            .map(|index: usize| index.to_string())
            .zip(levers)
            .map(here)
    });
    let mut complaints = places.filter_map(|(path, lever)| Some((path, wrong(lever, known)?)));
    complaints.next()
}

/// The lists of levers that put something on; what is taken away was put on before.
fn lists(study: &Study) -> Vec<(Vec<String>, &[LeverSetting])> {
    let path = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    let mut lists = vec![(path(&["baseline", "levers"]), &study.baseline.levers[..])];
    if let Some(whole) = &study.whole {
        lists.push((path(&["whole", "levers"]), &whole.levers));
    }
    for (index, step) in study.steps.iter().enumerate() {
        lists.push((path(&["step", &index.to_string(), "add"]), &step.add));
    }
    lists
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
                lever.name
            ))
        }
    }
}
