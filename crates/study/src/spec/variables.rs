//! Holds the variables in the commands of a study against those that there are.

use std::collections::BTreeSet;

use model::CommandStudy;
use model::braces::words_in_braces;
use model::command_study::{Factor, LevelValue};

use super::command_sense::is_words;
use super::nearest::did_you_mean;
use super::sense::Complaint;
use crate::commands::programs::optional;

/// Variables that every study has.
pub(super) const OWN: [&str; 3] = ["dir", "arm", "linerate"];

/// The variable for the name of a factor's level.
pub(super) fn level_name(factor: &Factor) -> String {
    format!("{}_level", factor.name)
}

/// The first word with a variable that is none, and the first factor that no command has.
pub(super) fn complaint(study: &CommandStudy) -> Option<Complaint> {
    let everyone: BTreeSet<&str> = study.factors.iter().map(|f| f.name.as_str()).collect();
    commands(study)
        .into_iter()
        .find_map(|(path, command)| of_command(study, &path, command, &everyone, &[]))
        .or_else(|| of_evidence(study))
        .or_else(|| of_values(study))
        .or_else(|| unused(study))
}

/// Every command of the workload and where it stands.
fn commands(study: &CommandStudy) -> Vec<(Vec<String>, &[String])> {
    let workload = &study.workload;
    let place = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    let lists = [
        ("build", &workload.build),
        ("prepare", &workload.prepare),
        ("cleanup", &workload.cleanup),
    ];
    let mut all = vec![(place(&["workload", "run"]), &workload.run[..])];
    for (field, list) in lists {
        for (index, command) in list.iter().enumerate() {
            all.push((place(&["workload", field, &index.to_string()]), command));
        }
    }
    all
}

fn of_evidence(study: &CommandStudy) -> Option<Complaint> {
    let mut pieces = study.evidence.iter().enumerate();
    pieces.find_map(|(index, piece)| {
        let path = ["evidence", &index.to_string(), "run"].map(str::to_owned);
        let factors = piece.levels.keys().map(String::as_str).collect();
        of_command(study, &path, &piece.run, &factors, &piece.needs)
    })
}

/// A command may have the variables of these factors and needs, and of what all need.
fn of_command(
    study: &CommandStudy,
    path: &[String],
    command: &[String],
    factors: &BTreeSet<&str>,
    needs: &[String],
) -> Option<Complaint> {
    // Evidence is of some levels and of no arm.
    let is_evidence = path.first().is_some_and(|key| key == "evidence");
    let named_by = if is_evidence {
        "`levels`, `needs` and `sizes`"
    } else {
        "`factor`, `needs` and `sizes`"
    };
    let chosen = || {
        study
            .factors
            .iter()
            .filter(|f| factors.contains(f.name.as_str()))
    };
    let mut known = common(study);
    known.retain(|word| !is_evidence || word != "arm");
    known.extend(chosen().map(|factor| factor.name.clone()));
    known.extend(chosen().map(level_name));
    command.iter().enumerate().find_map(|(index, word)| {
        let what = unknown(word, &known, named_by)
            .or_else(|| split(study, word))
            .or_else(|| not_for_all(study, word, needs))?;
        Some(([path, &[index.to_string()]].concat(), what))
    })
}

/// The values of levels may hold what is the same for all arms, and the programs that they need.
fn of_values(study: &CommandStudy) -> Option<Complaint> {
    let mut known = common(study);
    known.retain(|word| word != "arm");
    for (index, factor) in study.factors.iter().enumerate() {
        for (number, level) in factor.levels.iter().enumerate() {
            let words = match &level.value {
                None => &[][..],
                Some(LevelValue::Text(word)) => std::slice::from_ref(word),
                Some(LevelValue::Words(words)) => words,
            };
            let wrong = words.iter().find_map(|word| {
                unknown(word, &known, "`needs` and `sizes`")
                    .or_else(|| not_for_all(study, word, &level.needs))
            });
            if let Some(what) = wrong {
                let (index, number) = (index.to_string(), number.to_string());
                let path = ["factor", &index, "level", &number, "value"];
                return Some((path.map(str::to_owned).into(), what));
            }
        }
    }
    None
}

/// The variables that are the same for all arms.
fn common(study: &CommandStudy) -> Vec<String> {
    let needs = study.needs.iter().map(|need| need.name.clone());
    let own = OWN.iter().map(|word| (*word).to_owned());
    own.chain(needs)
        .chain(study.sizes.keys().cloned())
        .collect()
}

/// What is wrong with a word that has a variable which is none of those that the fields `named_by`
/// name.
fn unknown(word: &str, known: &[String], named_by: &str) -> Option<String> {
    let stranger = words_in_braces(word).find(|word| known.iter().all(|known| known != word))?;
    let meant = did_you_mean(stranger, known.iter().map(String::as_str));
    let known: Vec<String> = known.iter().map(|word| format!("{{{word}}}")).collect();
    Some(format!(
        "there is no variable `{{{stranger}}}`; expected one of {}, which {named_by} name, or for the word itself `{{{{{stranger}}}}}`{meant}",
        known.join(", ")
    ))
}

/// A program that a study goes on without stands only where these `needs` ask for it: elsewhere the
/// word would be left without its program.
fn not_for_all(study: &CommandStudy, word: &str, needs: &[String]) -> Option<String> {
    let optional = optional(study);
    let is_sure = |name: &str| !optional.contains(name) || needs.iter().any(|need| need == name);
    let unsure = words_in_braces(word).find(|name| !is_sure(name))?;
    Some(format!(
        "`{unsure}` may be absent, as a level or a piece of evidence that needs it is left out then; expected `{{{unsure}}}` only where `needs` has it"
    ))
}

/// A factor whose level is a list of words must be a word by itself.
fn split(study: &CommandStudy, word: &str) -> Option<String> {
    let mut lists = study.factors.iter().filter(|factor| is_words(factor));
    let factor = lists.find(|factor| {
        let variable = format!("{{{}}}", factor.name);
        word != variable && words_in_braces(word).any(|found| found == factor.name)
    })?;
    Some(format!(
        "a level of `{}` is a list of words; expected `{{{0}}}` as a word by itself, or `{{{0}_level}}`",
        factor.name
    ))
}

/// A factor that no command shows would compare the same with the same.
fn unused(study: &CommandStudy) -> Option<Complaint> {
    let all = commands(study);
    let words = || all.iter().flat_map(|(_, command)| command.iter());
    let mut factors = study.factors.iter().enumerate();
    let shown = |factor: &Factor| {
        let names = [factor.name.clone(), level_name(factor), "arm".to_owned()];
        words().any(|word| words_in_braces(word).any(|found| names.iter().any(|n| n == found)))
    };
    let (index, factor) = factors.find(|(_, factor)| !shown(factor))?;
    let path = ["factor", &index.to_string(), "name"].map(str::to_owned);
    let what = format!(
        "`{}` is in no command, so that its levels are all the same; expected `{{{0}}}` in one",
        factor.name
    );
    Some((path.into(), what))
}
