//! Checks the variables in the commands of a study against those that exist.

use std::collections::BTreeSet;

use model::CommandStudy;
use model::braces::words_in_braces;
use model::command_study::{Factor, LevelValue};

use super::command_sense::is_words;
use super::nearest::did_you_mean;
use super::sense::{Sense, must, place};
use crate::commands::programs::optional;

/// Variables that every study has.
pub(super) const OWN: [&str; 5] = ["dir", "arm", "linerate", "server_address", "server_at"];

/// Returns the variable for the name of a factor's level.
pub(super) fn level_name(factor: &Factor) -> String {
    format!("{}_level", factor.name)
}

/// Checks that every variable in a word exists, and that every factor is in a command.
pub(super) fn check(study: &CommandStudy) -> Sense {
    let everyone: Vec<&Factor> = study.factors.iter().collect();
    for (place, command) in commands(study) {
        check_command(study, &place, command, &everyone, &[])?;
    }
    for (index, piece) in study.evidence.iter().enumerate() {
        let has_level = |factor: &&Factor| piece.levels.contains_key(&factor.name);
        let factors: Vec<&Factor> = study.factors.iter().filter(has_level).collect();
        let place = place!["evidence", index, "run"];
        check_command(study, &place, &piece.run, &factors, &piece.needs)?;
    }
    check_values(study)?;
    unused(study)
}

/// Returns every command of the workload, with its place.
fn commands(study: &CommandStudy) -> Vec<(Vec<String>, &[String])> {
    let workload = &study.workload;
    let lists = [
        ("build", &workload.build),
        ("prepare", &workload.prepare),
        ("cleanup", &workload.cleanup),
    ];
    let mut all = vec![
        (place!["workload", "run"], &workload.run[..]),
        (place!["workload", "server"], &workload.server[..]),
    ];
    for (field, list) in lists {
        for (index, command) in list.iter().enumerate() {
            all.push((place!["workload", field, index], command));
        }
    }
    all
}

/// Checks a command. It may have the variables of these factors and needs, and those that are
/// common to all.
fn check_command(
    study: &CommandStudy,
    above: &[String],
    command: &[String],
    factors: &[&Factor],
    needs: &[String],
) -> Sense {
    // Evidence has levels, but belongs to no arm.
    let is_evidence = above.first().is_some_and(|key| key == "evidence");
    let named_by = if is_evidence {
        "`levels`, `needs` and `sizes`"
    } else {
        "`factor`, `needs` and `sizes`"
    };
    let mut known = common(study);
    known.retain(|word| !is_evidence || word != "arm");
    // Where a server listens is known only once it is up, so only `workload.run` may use its
    // address.
    let has_server = above == place!["workload", "run"] && !study.workload.server.is_empty();
    known.extend(factors.iter().map(|factor| factor.name.clone()));
    known.extend(factors.iter().map(|factor| level_name(factor)));
    for (index, word) in command.iter().enumerate() {
        let wrong = unknown(word, &known, named_by)
            .or_else(|| server_at(word).filter(|_| !has_server))
            .or_else(|| split(study, word))
            .or_else(|| not_for_all(study, word, needs));
        if let Some(what) = wrong {
            return Err(([above, &place![index]].concat(), what));
        }
    }
    Ok(())
}

/// Checks the values of levels. They may use what is common to all arms, and the programs that the
/// level needs.
fn check_values(study: &CommandStudy) -> Sense {
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
                    .or_else(|| server_at(word))
                    .or_else(|| not_for_all(study, word, &level.needs))
            });
            if let Some(what) = wrong {
                return Err((place!["factor", index, "level", number, "value"], what));
            }
        }
    }
    Ok(())
}

/// Returns the variables that are common to all arms.
fn common(study: &CommandStudy) -> Vec<String> {
    let needs = study.needs.iter().map(|need| need.name.clone());
    let own = OWN.iter().map(|word| (*word).to_owned());
    own.chain(needs)
        .chain(study.sizes.keys().cloned())
        .collect()
}

/// Says what is wrong with a word that has a variable outside `known`; `named_by` are the fields
/// that define variables.
fn unknown(word: &str, known: &[String], named_by: &str) -> Option<String> {
    let stranger = words_in_braces(word).find(|word| known.iter().all(|known| known != word))?;
    let meant = did_you_mean(stranger, known.iter().map(String::as_str));
    let known: Vec<String> = known.iter().map(|word| format!("{{{word}}}")).collect();
    Some(format!(
        "there is no variable `{{{stranger}}}`; expected one of {}, which {named_by} name, or for the word itself `{{{{{stranger}}}}}`{meant}",
        known.join(", ")
    ))
}

/// Says what is wrong with a word that has the server's address, where that is not known.
fn server_at(word: &str) -> Option<String> {
    let has_it = words_in_braces(word).any(|found| found == "server_at");
    has_it.then(|| {
        "`{server_at}` is where `workload.server` listens; expected only in `workload.run` of a study with such a server"
            .to_owned()
    })
}

/// Says what is wrong with a word that uses a program which may be absent, unless `needs` lists the
/// program. Otherwise a command could run without its program.
fn not_for_all(study: &CommandStudy, word: &str, needs: &[String]) -> Option<String> {
    let optional = optional(study);
    let is_sure = |name: &str| !optional.contains(name) || needs.iter().any(|need| need == name);
    let unsure = words_in_braces(word).find(|name| !is_sure(name))?;
    Some(format!(
        "`{unsure}` may be absent, and a level or a piece of evidence that needs it is left out then; expected `{{{unsure}}}` only where `needs` has it"
    ))
}

/// Says what is wrong with a word that mixes other text with a factor whose levels are lists of
/// words. Such a factor must be a word by itself.
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

/// Finds a factor that no command shows: all its levels would run the same commands.
fn unused(study: &CommandStudy) -> Sense {
    let all = commands(study);
    let words = all.iter().flat_map(|(_, command)| command.iter());
    let shown: BTreeSet<&str> = words.flat_map(|word| words_in_braces(word)).collect();
    for (index, factor) in study.factors.iter().enumerate() {
        let name = &factor.name;
        let names = [name, &level_name(factor), "arm"];
        let is_shown = names.iter().any(|name| shown.contains(*name));
        must(is_shown, place!["factor", index, "name"], || {
            format!(
                "`{name}` is in no command, so its levels are all the same; expected `{{{name}}}` in one"
            )
        })?;
    }
    Ok(())
}
