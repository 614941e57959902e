//! Study files: text to [`Study`], with errors that name file, line, column and what was expected.

use std::collections::HashSet;

use model::Study;
use model::lever::LeverSetting;
use model::study::STUDY_FORMAT;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong with a study file, and where.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}")]
pub struct SpecError {
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub what: String,
}

/// Reads a study from its text; `file` is the name that errors give.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(text: &str, file: &str) -> Result<Study, SpecError> {
    let study: Study = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        error_at(text, file, at, error.message())
    })?;
    match complaint(&study) {
        None => Ok(study),
        Some((field, what)) => Err(error_at(text, file, place_of(text, &field), &what)),
    }
}

fn error_at(text: &str, file: &str, byte: usize, what: &str) -> SpecError {
    let before = &text[..text.floor_char_boundary(byte.min(text.len()))];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    SpecError {
        file: file.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        what: what.trim_end().to_owned(),
    }
}

/// A path to a field: keys, or numbers where the step is into an array.
type Field = Vec<String>;

/// The first value that has the right type but makes no sense.
fn complaint(study: &Study) -> Option<(Field, String)> {
    let design = &study.design;
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let checks: [(bool, &str, String); 9] = [
        (
            study.format == STUDY_FORMAT,
            "format",
            format!("expected format = {STUDY_FORMAT}"),
        ),
        (
            !study.name.is_empty() && study.name.bytes().all(plain),
            "name",
            "expected lower-case letters, digits and hyphens".to_owned(),
        ),
        (
            (1..=1000).contains(&design.rounds),
            "design.rounds",
            "expected 1 to 1000 rounds; verdicts need 10".to_owned(),
        ),
        (
            (10..=60_000).contains(&design.score_ms),
            "design.score_ms",
            "expected 10 to 60000 ms; half a second or more gives steady figures".to_owned(),
        ),
        (
            design.settle_ms <= 60_000,
            "design.settle_ms",
            "expected at most 60000 ms; 50 to 100 is usual".to_owned(),
        ),
        (
            design.smallest_effect > 0.0 && design.smallest_effect < 1.0,
            "design.smallest_effect",
            "expected a share between 0 and 1, such as 0.03 for 3 %".to_owned(),
        ),
        (
            (1..=10_000).contains(&study.workload.connections),
            "workload.connections",
            "expected 1 to 10000 connections".to_owned(),
        ),
        (
            study.workload.threads >= 1 && study.workload.threads <= study.workload.connections,
            "workload.threads",
            "expected at least 1 thread and no more threads than connections".to_owned(),
        ),
        (
            study.workload.path.starts_with('/') && study.workload.path.bytes().all(is_path_byte),
            "workload.path",
            "expected a path that starts with `/` and holds no spaces".to_owned(),
        ),
    ];
    let failed = checks.into_iter().find(|(holds, _, _)| !holds);
    failed
        .map(|(_, field, what)| (field.split('.').map(str::to_owned).collect(), what))
        .or_else(|| latency_complaint(study))
        .or_else(|| step_complaint(study))
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_graphic()
}

fn latency_complaint(study: &Study) -> Option<(Field, String)> {
    let latency = study.latency.as_ref()?;
    let field = |name: &str| vec!["latency".to_owned(), name.to_owned()];
    if !(latency.rate_share > 0.0 && latency.rate_share <= 1.0) {
        return Some((
            field("rate_share"),
            "expected a share of capacity, 0 to 1".to_owned(),
        ));
    }
    if !(1..=1000).contains(&latency.blocks) {
        return Some((field("blocks"), "expected 1 to 1000 blocks".to_owned()));
    }
    (!(10..=60_000).contains(&latency.score_ms))
        .then(|| (field("score_ms"), "expected 10 to 60000 ms".to_owned()))
}

/// A step must have a name of its own, change something, and take away only what is there.
fn step_complaint(study: &Study) -> Option<(Field, String)> {
    let mut names = HashSet::from(["baseline", "control", "floor"]);
    let mut levers: HashSet<&LeverSetting> = study.baseline.levers.iter().collect();
    for (index, step) in study.steps.iter().enumerate() {
        let field = |name: &str| vec!["step".to_owned(), index.to_string(), name.to_owned()];
        if step.name.is_empty() || !names.insert(&step.name) {
            let what = format!("expected a name that no other arm has, not `{}`", step.name);
            return Some((field("name"), what));
        }
        if step.add.is_empty() && step.take_away.is_empty() {
            return Some((
                field("name"),
                "expected `add` or `take_away` in this step".to_owned(),
            ));
        }
        if let Some(missing) = step.take_away.iter().find(|lever| !levers.remove(lever)) {
            let what =
                format!("`{missing}` cannot be taken away: the arm before has no such lever");
            return Some((field("take_away"), what));
        }
        levers.extend(&step.add);
    }
    None
}

/// The byte at which a field's value stands, or the nearest thing around it that is there.
fn place_of(text: &str, field: &[String]) -> usize {
    let Ok(table) = DeTable::parse(text) else {
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
        crate::catalogue::built_in_text("http-json")
            .expect("compiled in")
            .to_owned()
    }

    fn complaint_about(from: &str, to: &str) -> SpecError {
        let text = text();
        assert!(text.contains(from), "{from} is not in the study");
        parse(&text.replacen(from, to, 1), "s.toml").unwrap_err()
    }

    #[test]
    fn the_shipped_study_is_right() {
        assert_eq!(parse(&text(), "s.toml").unwrap().name, "http-json");
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
        assert!(error.what.contains("ruonds"), "{error}");
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
        assert!(error.what.contains("no other arm"), "{error}");
    }
}
