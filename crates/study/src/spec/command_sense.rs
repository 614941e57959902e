//! Checks what no single field shows: whether the parts of a study of commands agree with one
//! another.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use model::CommandStudy;
use model::command_study::{Factor, LevelValue, MetricSource, OutputPart, PublishedFigure};

use super::nearest::unknown;
use super::sense::{Sense, must, place};
use super::variables;
use crate::commands::pull;
use crate::service_spec::{find_complaint, stays_below};

/// Most arms of a study, because each runs in every round.
const MOST_ARMS: usize = 200;

/// Checks that no parts contradict one another.
pub(super) fn check(study: &CommandStudy) -> Sense {
    names(study)?;
    sizes(study)?;
    design(study)?;
    needs(study)?;
    metrics(study)?;
    ceilings(study)?;
    files(study)?;
    published(study)?;
    for (index, piece) in study.evidence.iter().enumerate() {
        let place = place!["evidence", index, "levels"];
        levels(study, &place, &piece.levels)?;
    }
    variables::check(study)
}

/// Checks that everything which is a variable has a name of its own.
fn names(study: &CommandStudy) -> Sense {
    let level_names = study.factors.iter().map(variables::level_name);
    let own = variables::OWN.map(str::to_owned).into_iter();
    let mut taken: HashSet<String> = own.chain(level_names).collect();
    let factors = study.factors.iter().map(|factor| &factor.name);
    let factors = factors
        .enumerate()
        .map(|(index, name)| (place!["factor", index, "name"], name));
    let needs = study.needs.iter().map(|need| &need.name);
    let needs = needs
        .enumerate()
        .map(|(index, name)| (place!["needs", index, "name"], name));
    let sizes = study.sizes.keys().map(|name| (place!["sizes", name], name));
    for (place, name) in factors.chain(needs).chain(sizes) {
        must(taken.insert(name.clone()), place, || {
            format!("something else is called `{name}`; expected a name of its own")
        })?;
    }
    Ok(())
}

fn sizes(study: &CommandStudy) -> Sense {
    for (name, size) in &study.sizes {
        must(model::braces::is_word(name), place!["sizes", name], || {
            "the name cannot stand in braces; expected lower-case letters, digits and `_`"
                .to_owned()
        })?;
        let (smoke, full) = (size.smoke, size.full);
        must(smoke <= full, place!["sizes", name], || {
            format!("`smoke` is {smoke} and `full` is {full}; expected `smoke` to be no larger")
        })?;
    }
    Ok(())
}

/// Checks that whatever the design compares has something to be compared with.
fn design(study: &CommandStudy) -> Sense {
    let design = &study.design;
    let interaction = design.interaction.iter().flatten();
    let compared = [("compare", &design.compare)].into_iter();
    for (field, name) in compared.chain(interaction.map(|name| ("interaction", name))) {
        let levels = study.factor(name).map_or(0, |factor| factor.levels.len());
        must(levels > 1, place!["design", field], || {
            format!("`{name}` has one level; expected a factor with two or more")
        })?;
    }
    let is_its_own = design.mean_over.as_ref() == Some(&design.compare);
    must(!is_its_own, place!["design", "mean_over"], || {
        "a mean over what is compared says nothing; expected another factor".to_owned()
    })?;
    let interaction = design.interaction.as_ref();
    let is_with_itself = interaction.is_some_and(|[one, other]| one == other);
    must(!is_with_itself, place!["design", "interaction"], || {
        "a factor does not interact with itself; expected two factors".to_owned()
    })?;
    let levels = study.factors.iter().map(|factor| factor.levels.len());
    let arms: usize = levels.product();
    must(arms <= MOST_ARMS, place!["factor"], || {
        format!("the levels make {arms} combinations; expected {MOST_ARMS} at most")
    })
}

fn needs(study: &CommandStudy) -> Sense {
    for (index, need) in study.needs.iter().enumerate() {
        if let Some((below, what)) = find_complaint(&need.find) {
            return Err(([place!["needs", index], below].concat(), what));
        }
    }
    Ok(())
}

fn metrics(study: &CommandStudy) -> Sense {
    let is_sure = study.metrics.first().is_none_or(|first| !first.optional);
    must(is_sure, place!["metric", 0, "optional"], || {
        "verdicts are about the first metric; expected one that every run has".to_owned()
    })?;
    for (index, metric) in study.metrics.iter().enumerate() {
        let unit = |unit: &str| {
            must(metric.unit == unit, place!["metric", index, "unit"], || {
                format!("expected \"{unit}\", in which the kernel's figures are")
            })
        };
        let from = place!["metric", index, "from"];
        match &metric.from {
            MetricSource::Wall | MetricSource::Cpu => unit("ns")?,
            MetricSource::PeakMemory => unit("bytes")?,
            MetricSource::Regex(pattern) => regex(pattern, from)?,
            MetricSource::Json(pointer) => self::pointer(pointer, from)?,
        }
    }
    let on = place!["workload", "agree", "on"];
    match study.workload.agree.as_ref().map(|agree| &agree.on) {
        Some(OutputPart::Regex(pattern)) => regex(pattern, on),
        Some(OutputPart::Json(pointer)) => self::pointer(pointer, on),
        Some(OutputPart::Stdout) | None => Ok(()),
    }
}

/// Checks that each ceiling gives its amount in exactly one way, and that all limit the same rate:
/// the nearest ceiling is the one that allows the least of it.
fn ceilings(study: &CommandStudy) -> Sense {
    for (index, ceiling) in study.ceilings.iter().enumerate() {
        let has_one_amount = ceiling.most.is_some() != ceiling.probe.is_some();
        must(has_one_amount, place!["ceiling", index], || {
            "expected either `most`, a number, or `probe`, which measures how much there is"
                .to_owned()
        })?;
        let rate = &study.ceilings[0].of;
        must(ceiling.of == *rate, place!["ceiling", index, "of"], || {
            format!("the first ceiling is of `{rate}`; expected the same of all")
        })?;
    }
    Ok(())
}

fn regex(pattern: &str, above: Vec<String>) -> Sense {
    let place = [above, place!["regex"]].concat();
    pull::regex_complaint(pattern).map_or(Ok(()), |what| Err((place, what)))
}

fn pointer(pointer: &str, above: Vec<String>) -> Sense {
    let place = [above, place!["json"]].concat();
    pull::pointer_complaint(pointer).map_or(Ok(()), |what| Err((place, what)))
}

fn files(study: &CommandStudy) -> Sense {
    for file in study.files.keys() {
        must(stays_below(file), place!["files", file], || {
            format!("`{file}` leads out of the study's folder; expected a path below it")
        })?;
    }
    Ok(())
}

fn published(study: &CommandStudy) -> Sense {
    for (index, figure) in study.published.iter().enumerate() {
        levels(study, &place!["published", index, "levels"], &figure.levels)?;
        if let Some(others) = &figure.against {
            let place = place!["published", index, "against"];
            levels(study, &place, others)?;
            against(figure, others, place)?;
        }
        if let (Some(low), Some(high)) = (figure.at_least, figure.at_most) {
            must(low <= high, place!["published", index, "at_most"], || {
                format!(
                    "`at_least` is {low} and `at_most` is {high}; expected `at_most` to be no lower"
                )
            })?;
        }
    }
    Ok(())
}

/// Checks that a published ratio is to other levels of the same factors.
fn against(
    figure: &PublishedFigure,
    others: &BTreeMap<String, String>,
    place: Vec<String>,
) -> Sense {
    let is_other = |(factor, level): (&String, &String)| {
        let own = figure.levels.get(factor);
        own.is_some_and(|own| own != level)
    };
    let is_sense = !others.is_empty() && others.iter().all(is_other);
    must(is_sense, place, || {
        let factors = figure.levels.keys().chain(others.keys());
        let factors: BTreeSet<&str> = factors.map(String::as_str).collect();
        let factors: Vec<&str> = factors.into_iter().collect();
        format!(
            "a ratio compares levels of the same factors; expected one level of {} in `levels` and another in `against`",
            factors.join(" or ")
        )
    })
}

/// Checks that these factors and levels exist.
fn levels(study: &CommandStudy, above: &[String], levels: &BTreeMap<String, String>) -> Sense {
    for (factor, level) in levels {
        let factors = || study.factors.iter().map(|factor| factor.name.as_str());
        let known = study.factor(factor);
        let known = known.ok_or_else(|| (above.to_vec(), unknown("factor", factor, factors())))?;
        let place = [above, &place![factor]].concat();
        must(known.level(level).is_some(), place, || {
            let names = known.levels.iter().map(|level| level.name.as_str());
            unknown(&format!("level of {factor}"), level, names)
        })?;
    }
    Ok(())
}

/// Whether a level of the factor is a list of words, which cannot be part of a word.
pub(super) fn is_words(factor: &Factor) -> bool {
    let mut values = factor.levels.iter().map(|level| &level.value);
    values.any(|value| matches!(value, Some(LevelValue::Words(_))))
}
