//! Study files: turns text into a [`StudyFile`], with errors that name file, line, column and what
//! was expected.

mod command_sense;
mod fields;
mod levers;
pub mod nearest;
pub(crate) mod sense;
mod shape;
mod shorthand;
mod variables;

pub(crate) use fields::MOST_ITEMS;
use model::lever::LeverShape;
use model::study::StudyFile;
use model::{CommandStudy, Saved, Study};
use sense::{Complaint, Sense};
use serde::Deserialize as _;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

/// What is wrong with a study file, and where.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}")]
pub struct SpecError {
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    pub what: String,
}

/// Reads a study from its text; `file` is the name that errors show.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(text: &str, file: &str) -> Result<StudyFile, SpecError> {
    let not_toml = |error: toml::de::Error| at_toml(text, file, &error);
    let table = shorthand::written_out(text).map_err(not_toml)?;
    if let Some(problem) = shape::first_problem(text, &table) {
        return Err(error_at(text, file, problem.at, &problem.what));
    }
    if shape::is_of_commands(table.get_ref()) {
        let study: CommandStudy = sensible(table, (text, file), command_sense::check)?;
        Ok(StudyFile::Commands(Box::new(study)))
    } else {
        let study: Study = sensible(table, (text, file), sense::check)?;
        Ok(StudyFile::Load(Box::new(study)))
    }
}

/// Reads a study from a checked table, and checks that its fields agree with one another.
fn sensible<S: Saved>(
    table: Spanned<DeTable<'_>>,
    (text, file): (&str, &str),
    check: impl Fn(&S) -> Sense,
) -> Result<S, SpecError> {
    let value = Value::deserialize(Deserializer::from(table));
    let value = value.map_err(|error| at_toml(text, file, &error))?;
    // The types read JSON for run folders, and the same code serves here. The checks above have
    // already reported errors with their place.
    let study = S::from_json(value.to_string().as_bytes());
    let study = study.map_err(|error| error_at(text, file, 0, &error.to_string()))?;
    let checked = check(&study).map(|()| study);
    checked.map_err(|complaint| error_about(text, file, complaint))
}

fn at_toml(text: &str, file: &str, error: &toml::de::Error) -> SpecError {
    let at = error.span().map_or(0, |span| span.start);
    error_at(text, file, at, error.message())
}

/// Checks that every lever of a study is one of `known` and has a value that it accepts.
///
/// # Errors
/// The first lever that is not, and where it is.
pub fn check_levers(
    study: &Study,
    text: &str,
    file: &str,
    known: &[LeverShape],
) -> Result<(), SpecError> {
    levers::check(study, known).map_err(|complaint| error_about(text, file, complaint))
}

/// An error at a field, with the field's name and place.
pub(crate) fn error_about(text: &str, file: &str, (field, what): Complaint) -> SpecError {
    let is_key = |key: &&String| key.parse::<usize>().is_err();
    let keys: Vec<&str> = field.iter().filter(is_key).map(String::as_str).collect();
    let what = format!("`{}`: {what}", keys.join("."));
    error_at(text, file, place_of(text, &field), &what)
}

pub(crate) fn error_at(text: &str, file: &str, byte: usize, what: &str) -> SpecError {
    let before = &text[..text.floor_char_boundary(byte.min(text.len()))];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    SpecError {
        file: file.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        what: what.trim_end().to_owned(),
    }
}

/// Returns the byte at which a field's value begins, or else the closest value around it that
/// exists.
fn place_of(text: &str, field: &[String]) -> usize {
    let Ok(table) = shorthand::written_out(text) else {
        return 0;
    };
    let Some((first, rest)) = field.split_first() else {
        return 0;
    };
    table
        .get_ref()
        .get(first.as_str())
        .map_or(0, |value| place_within(value, rest))
}

fn place_within(value: &Spanned<DeValue<'_>>, path: &[String]) -> usize {
    let here = value.span().start;
    let Some((key, rest)) = path.split_first() else {
        return here;
    };
    let next = match value.get_ref() {
        DeValue::Table(table) => table.get(key.as_str()),
        DeValue::Array(items) => key.parse().ok().and_then(|index: usize| items.get(index)),
        _ => None,
    };
    next.map_or(here, |next| place_within(next, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        let found = crate::catalogue::find("http-json").unwrap();
        found.text.into_owned()
    }

    fn complaint_about(from: &str, to: &str) -> SpecError {
        let text = text();
        assert!(text.contains(from), "{from} is not in the study");
        parse(&text.replacen(from, to, 1), "s.toml").unwrap_err()
    }

    #[test]
    fn the_shipped_study_is_right() {
        assert_eq!(parse(&text(), "s.toml").unwrap().name(), "http-json");
    }

    #[test]
    fn an_error_names_file_line_column_and_what_was_expected() {
        let error = complaint_about("rounds = 16", "rounds = 0");
        let line = text()
            .lines()
            .position(|line| line == "rounds = 16")
            .unwrap()
            + 1;
        assert_eq!(
            (error.file.as_str(), error.line, error.column),
            ("s.toml", line, 10)
        );
        assert!(error.what.contains("1 to 1000"), "{error}");
    }

    #[test]
    fn a_wrong_type_and_an_unknown_key_are_found_where_they_stand() {
        let error = complaint_about("rounds = 16", "rounds = \"many\"");
        assert!(error.line > 1 && error.what.contains("expected"), "{error}");
        let error = complaint_about("rounds = 16", "rounds = 16\nruonds = 3");
        assert!(error.what.contains("did you mean `rounds`?"), "{error}");
    }

    #[test]
    fn a_step_may_take_away_only_what_is_there() {
        let error = complaint_about("take_away = [\"conntrack\"]", "take_away = [\"tracking\"]");
        assert!(
            error.what.contains("`tracking`") && error.line > 60,
            "{error}"
        );
    }

    #[test]
    fn two_steps_may_not_share_a_name() {
        let error = complaint_about("name = \"neighbour\"", "name = \"seccomp\"");
        assert!(error.what.contains("something else is called"), "{error}");
    }

    fn complaint_about_frameworks(from: &str, to: &str) -> String {
        let text = crate::catalogue::find("http-frameworks").unwrap().text;
        assert!(text.contains(from), "{from} is not in the study");
        let error = parse(&text.replacen(from, to, 1), "s.toml").unwrap_err();
        error.to_string()
    }

    #[test]
    fn programs_can_be_compared_and_not_climbed() {
        let said = complaint_about_frameworks("kind = \"compare\"", "kind = \"ladder\"");
        let wanted = "`baseline.target`: only a comparison's baseline has one; \
                      expected design.kind = \"compare\"";
        assert!(said.ends_with(wanted), "{said}");
        let error = complaint_about(
            "name = \"seccomp\"",
            "name = \"seccomp\"\ntarget = \"nginx\"",
        );
        let wanted = "only a comparison's steps have one";
        assert!(error.what.contains(wanted), "{error}");
    }

    #[test]
    fn a_step_of_the_baselines_own_program_alone_changes_nothing() {
        let said = complaint_about_frameworks("target = \"nginx\"", "target = \"serve\"");
        assert!(said.contains("`nginx` changes nothing"), "{said}");
    }

    #[test]
    fn an_arm_is_compared_with_a_step_before_it() {
        let said = complaint_about_frameworks("against = \"plaintext\"", "against = \"plain\"");
        assert!(
            said.contains("there is no step `plain` before it"),
            "{said}"
        );
        assert!(said.contains("python, plaintext"), "{said}");
        let said = complaint_about_frameworks("target = \"caddy\"\n", "");
        assert!(said.contains("`caddy` changes nothing"), "{said}");
    }

    /// A comparison with these lines in the place of its arms.
    fn compared(top: &str, arms: &str) -> Result<Study, SpecError> {
        let text = format!(
            "format = 1\nname = \"n\"\ntitle = \"t\"\nquestion = \"q\"\nmethod = \"m\"\n{top}\n[design]\n\
             kind = \"compare\"\nrounds = 16\nsettle_ms = 60\nscore_ms = 400\nsmallest_effect = 0.03\n\
             [workload]\npath = \"/json\"\nconnections = 4\n{arms}\n"
        );
        match parse(&text, "s.toml")? {
            StudyFile::Load(study) => Ok(*study),
            StudyFile::Commands(_) => unreachable!("it compares servers"),
        }
    }

    #[test]
    fn programs_that_are_compared_may_be_said_in_short() {
        let of = |target: &str| format!("title = \"{target}\"\ntarget = \"{target}\"\n");
        let step =
            |name: &str, target: &str| format!("[[step]]\nname = \"{name}\"\n{}", of(target));
        let (old, new) = ("nginx@1.24", "nginx@/opt/nginx");
        let steps = step("nginx-opt-nginx", new) + &step("caddy", "caddy");
        let baseline = format!("[baseline]\n{}", of(old));
        let all = compared("", &(baseline.clone() + &steps)).unwrap();
        let list = format!("services = [\"{old}\", \"{new}\", \"caddy\"]");
        assert_eq!(compared(&list, "").unwrap(), all);
        let list = format!("services = [\"{new}\", \"caddy\"]");
        assert_eq!(compared(&list, &baseline).unwrap(), all);
        let program = "[baseline]\ntitle = \"nginx@/opt/nginx\"\nservice = \"nginx\"\nprogram = \"/opt/nginx\"";
        let longer = compared("", &format!("[baseline]\n{}", of(new))).unwrap();
        assert_eq!(compared("", program).unwrap(), longer);
    }

    #[test]
    fn what_is_wrong_with_a_shorthand_is_said_at_its_line() {
        let arm = |lines: &str| format!("[baseline]\ntitle = \"t\"\n{lines}");
        for (top, arms, line, said) in [
            (
                "services = [\"nginx\",\n\"nginx@-\"]",
                "",
                7,
                "`step.target` is \"nginx@-\"; expected",
            ),
            (
                "services = [\"nginx\",\n\"nginx\"]",
                "",
                7,
                "changes nothing",
            ),
            (
                "services = [\"nginx\", \"caddy\",\n\"caddy\"]",
                "",
                7,
                "is called `caddy`",
            ),
            (
                "services = [\"nginx\",\n5]",
                "",
                7,
                "`step.target` is 5; expected",
            ),
            (
                "services = \"nginx\"",
                "",
                6,
                "`services` is \"nginx\"; expected a list",
            ),
            (
                "",
                &arm("target = \"nginx\"\nprogram = \"sbin\""),
                19,
                "NAME@/PATH/OF/PROGRAM",
            ),
            (
                "",
                &arm("program = \"/sbin/nginx\""),
                18,
                "NAME@/PATH/OF/PROGRAM",
            ),
            (
                "",
                &arm("target = \"nginx@1\"\nprogram = \"/n\""),
                19,
                "NAME@/PATH/OF/PROGRAM",
            ),
            (
                "",
                &arm("target = \"nginx\"\nprogram = 5"),
                19,
                "`baseline.program` is 5; expected",
            ),
        ] {
            let error = compared(top, arms).unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.what.contains(said), "{error}");
        }
    }
}
