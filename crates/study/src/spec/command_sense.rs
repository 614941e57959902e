//! What no field shows by itself: whether the parts of a study of commands agree with one another.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use model::CommandStudy;
use model::command_study::{
    Factor, LevelValue, MetricSource, MetricSpec, OutputPart, PublishedFigure,
};

use super::nearest::unknown;
use super::sense::Complaint;
use super::variables;
use crate::commands::pull;
use crate::service_spec::{find_complaint, stays_below};

/// The most arms of a study: each is run in every round.
const MOST_ARMS: usize = 200;

/// The first fields that contradict one another.
pub(super) fn complaint(study: &CommandStudy) -> Option<Complaint> {
    names(study)
        .or_else(|| sizes(study))
        .or_else(|| design(study))
        .or_else(|| needs(study))
        .or_else(|| metrics(study))
        .or_else(|| files(study))
        .or_else(|| references(study))
        .or_else(|| variables::complaint(study))
}

/// Whatever is a variable has a name of its own.
fn names(study: &CommandStudy) -> Option<Complaint> {
    let factors = indexed("factor", study.factors.iter().map(|factor| &factor.name));
    let needs = indexed("needs", study.needs.iter().map(|need| &need.name));
    let sizes = study
        .sizes
        .keys()
        .map(|name| (path(&["sizes", name]), name));
    let level_names = study.factors.iter().map(variables::level_name);
    let own = variables::OWN.map(str::to_owned).into_iter();
    let mut taken: HashSet<String> = own.chain(level_names).collect();
    let mut variables = factors.into_iter().chain(needs).chain(sizes);
    let (path, name) = variables.find(|(_, name)| !taken.insert((*name).clone()))?;
    let what = format!("something else is called `{name}`; expected a name of its own");
    Some((path, what))
}

fn sizes(study: &CommandStudy) -> Option<Complaint> {
    study.sizes.iter().find_map(|(name, size)| {
        let what = if !model::braces::is_word(name) {
            "the name cannot stand in braces; expected lower-case letters, digits and `_`"
                .to_owned()
        } else if size.smoke > size.full {
            let (smoke, full) = (size.smoke, size.full);
            format!("`smoke` is {smoke} and `full` is {full}; expected no more of it")
        } else {
            return None;
        };
        Some((path(&["sizes", name]), what))
    })
}

/// What the design compares has something to be compared with.
fn design(study: &CommandStudy) -> Option<Complaint> {
    let design = &study.design;
    let interaction = design.interaction.iter().flatten();
    let compared = [("compare", &design.compare)].into_iter();
    for (field, name) in compared.chain(interaction.map(|name| ("interaction", name))) {
        let levels = study.factor(name).map_or(0, |factor| factor.levels.len());
        if levels < 2 {
            let what = format!("`{name}` has one level; expected a factor with two or more");
            return Some((path(&["design", field]), what));
        }
    }
    if design.mean_over.as_ref() == Some(&design.compare) {
        let what = "a mean over what is compared says nothing; expected another factor".to_owned();
        return Some((path(&["design", "mean_over"]), what));
    }
    let same = design
        .interaction
        .as_ref()
        .is_some_and(|[one, other]| one == other);
    if same {
        let what = "a factor does not interact with itself; expected two factors".to_owned();
        return Some((path(&["design", "interaction"]), what));
    }
    let arms: usize = study
        .factors
        .iter()
        .map(|factor| factor.levels.len())
        .product();
    (arms > MOST_ARMS).then(|| {
        let what = format!("the levels make {arms} combinations; expected {MOST_ARMS} at most");
        (path(&["factor"]), what)
    })
}

fn needs(study: &CommandStudy) -> Option<Complaint> {
    let mut found = (0_usize..).zip(&study.needs).map(|(index, need)| {
        find_complaint(&need.find).map(|(below, what)| {
            let above = path(&["needs", &index.to_string()]);
            ([above, below].concat(), what)
        })
    });
    found.find_map(|complaint| complaint)
}

fn metrics(study: &CommandStudy) -> Option<Complaint> {
    let mut all = (0_usize..).zip(&study.metrics);
    all.find_map(|(index, metric)| {
        let (fields, what) = metric_complaint(metric)?;
        let above = path(&["metric", &index.to_string()]);
        Some(([above, path(fields)].concat(), what))
    })
    .or_else(|| {
        let part = &study.workload.agree.as_ref()?.on;
        let (field, what) = match part {
            OutputPart::Stdout => return None,
            OutputPart::Regex(pattern) => ("regex", pull::regex_complaint(pattern)?),
            OutputPart::Json(pointer) => ("json", pull::pointer_complaint(pointer)?),
        };
        Some((path(&["workload", "agree", "on", field]), what))
    })
}

fn metric_complaint(metric: &MetricSpec) -> Option<(&'static [&'static str], String)> {
    let unit = |unit: &str| {
        let what = format!("expected \"{unit}\", in which the kernel's figures are");
        (metric.unit != unit).then_some((&["unit"][..], what))
    };
    match &metric.from {
        MetricSource::Wall | MetricSource::Cpu => unit("ns"),
        MetricSource::PeakMemory => unit("bytes"),
        MetricSource::Regex(pattern) => Some((&["from", "regex"], pull::regex_complaint(pattern)?)),
        MetricSource::Json(pointer) => Some((&["from", "json"], pull::pointer_complaint(pointer)?)),
    }
}

fn files(study: &CommandStudy) -> Option<Complaint> {
    let astray = study.files.keys().find(|file| !stays_below(file))?;
    let what = format!("`{astray}` leads out of the study's folder; expected a path below it");
    Some((path(&["files", astray]), what))
}

/// Levels that others name are there.
fn references(study: &CommandStudy) -> Option<Complaint> {
    let mut figures = (0_usize..).zip(&study.published);
    let of_figures = figures.find_map(|(index, figure)| {
        let above = path(&["published", &index.to_string()]);
        levels_complaint(study, &above, "levels", &figure.levels)
            .or_else(|| against_complaint(study, &above, figure))
    });
    let mut pieces = (0_usize..).zip(&study.evidence);
    of_figures.or_else(|| {
        pieces.find_map(|(index, piece)| {
            let above = path(&["evidence", &index.to_string()]);
            levels_complaint(study, &above, "levels", &piece.levels)
        })
    })
}

/// What a ratio is against are other levels of its own factors.
fn against_complaint(
    study: &CommandStudy,
    above: &[String],
    figure: &PublishedFigure,
) -> Option<Complaint> {
    let against = figure.against.as_ref()?;
    let found = levels_complaint(study, above, "against", against);
    let is_other = |(factor, level): (&String, &String)| {
        let own = figure.levels.get(factor);
        own.is_some_and(|own| own != level)
    };
    found.or_else(|| {
        let is_sense = !against.is_empty() && against.iter().all(is_other);
        let factors: BTreeSet<&str> = figure.levels.keys().chain(against.keys()).map(String::as_str).collect();
        let factors: Vec<&str> = factors.into_iter().collect();
        let what = format!(
            "a ratio is of some levels to others of the same factors; expected in `levels` one level and in `against` another of {}",
            factors.join(" or ")
        );
        (!is_sense).then(|| ([above.to_vec(), path(&["against"])].concat(), what))
    })
}

fn levels_complaint(
    study: &CommandStudy,
    above: &[String],
    field: &str,
    levels: &BTreeMap<String, String>,
) -> Option<Complaint> {
    let below = |keys: &[&str]| [above.to_vec(), path(keys)].concat();
    for (factor, level) in levels {
        let Some(known) = study.factor(factor) else {
            return Some((
                below(&[field]),
                unknown("factor", factor, factor_names(study)),
            ));
        };
        if known.level(level).is_none() {
            let names = known.levels.iter().map(|level| level.name.as_str());
            let what = unknown(&format!("level of {factor}"), level, names);
            return Some((below(&[field, factor]), what));
        }
    }
    None
}

fn factor_names(study: &CommandStudy) -> impl Iterator<Item = &str> {
    study.factors.iter().map(|factor| factor.name.as_str())
}

/// Whether a factor's level is more than a part of a word.
pub(super) fn is_words(factor: &Factor) -> bool {
    let mut values = factor.levels.iter().map(|level| &level.value);
    values.any(|value| matches!(value, Some(LevelValue::Words(_))))
}

fn indexed<'a>(
    list: &'static str,
    names: impl Iterator<Item = &'a String>,
) -> Vec<(Vec<String>, &'a String)> {
    let place =
        |(index, name): (usize, &'a String)| (path(&[list, &index.to_string(), "name"]), name);
    (0_usize..).zip(names).map(place).collect()
}

fn path(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}
