//! Holds a study file against the table of its fields: every value that is missing, unknown or
//! not what it must be, with its place.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fields::{Field, Kind, MOST_ITEMS, STUDY, names};
use super::nearest::did_you_mean;

/// The longest value that a message repeats, in characters.
const LONGEST_SHOWN: usize = 40;

/// Something wrong and where it stands.
#[derive(Debug)]
pub(super) struct Problem {
    /// In bytes from the start of the file.
    pub(super) at: usize,
    pub(super) what: String,
}

/// The first thing in the file that does not fit the table. A file of another format is said to
/// be that and nothing else: its other fields may mean anything.
pub(super) fn first_problem(text: &str, file: &Spanned<DeTable<'_>>) -> Option<Problem> {
    let mut look = Look {
        text,
        problems: Vec::new(),
        missing: Vec::new(),
    };
    let format = STUDY.iter().find(|field| field.name == "format");
    if let Some((field, value)) = format.zip(file.get_ref().get("format")) {
        look.value("", field.name, value, &field.kind, field.hint);
    }
    if look.problems.is_empty() {
        look.table("", file.span().start, file.get_ref(), STUDY);
    }
    let first = look.problems.into_iter().min_by_key(|problem| problem.at);
    // A field that is missing may only be misspelt, and then that says more.
    first.or_else(|| look.missing.into_iter().next())
}

struct Look<'a> {
    text: &'a str,
    problems: Vec<Problem>,
    missing: Vec<Problem>,
}

impl Look<'_> {
    fn table(&mut self, path: &str, at: usize, table: &DeTable<'_>, fields: &[Field]) {
        for (key, value) in table {
            let name: &str = key.get_ref();
            match fields.iter().find(|field| field.name == name) {
                Some(field) => self.value(path, name, value, &field.kind, field.hint),
                None => self.unknown(path, name, key.span().start, fields),
            }
        }
        for field in fields {
            if field.must && !table.contains_key(field.name) {
                self.missing(path, at, field);
            }
        }
    }

    fn value(
        &mut self,
        path: &str,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        kind: &Kind,
        hint: &str,
    ) {
        let at = value.span().start;
        match (kind, value.get_ref()) {
            (Kind::Table(fields), DeValue::Table(table)) => {
                self.table(&format!("{path}{name}."), at, table, fields);
            }
            (Kind::List(of), DeValue::Array(items)) if items.len() <= MOST_ITEMS => {
                for item in items {
                    self.value(path, name, item, of, hint);
                }
            }
            (kind, found) if kind.takes(found) => {}
            (kind, found) => {
                let shown = self.shown(value);
                let meant = meant(kind, found);
                self.say(
                    at,
                    format!(
                        "`{path}{name}` is {shown}; expected {kind}{}{meant}",
                        after(hint)
                    ),
                );
            }
        }
    }

    fn unknown(&mut self, path: &str, name: &str, at: usize, fields: &[Field]) {
        let meant = did_you_mean(name, fields.iter().map(|field| field.name));
        let known = names(fields);
        let name = clipped(&format!("{path}{}", name.escape_debug()));
        self.say(
            at,
            format!("there is no field `{name}`{meant}; expected one of {known}"),
        );
    }

    fn missing(&mut self, path: &str, at: usize, field: &Field) {
        let (name, kind, hint) = (field.name, &field.kind, after(field.hint));
        let what = format!("`{path}{name}` is missing; expected {kind}{hint}");
        self.missing.push(Problem { at, what });
    }

    fn say(&mut self, at: usize, what: String) {
        self.problems.push(Problem { at, what });
    }

    /// A value as it stands in the file, where that is short enough to be read in a message.
    fn shown(&self, value: &Spanned<DeValue<'_>>) -> String {
        let written = self.text.get(value.span()).unwrap_or_default();
        let is_short = written.chars().count() <= LONGEST_SHOWN;
        match value.get_ref() {
            DeValue::String(text) if text.is_empty() => "empty".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Array(items) => format!("a list of {}", items.len()),
            DeValue::String(text) if !is_short || written.contains('\n') => {
                format!("a text of {} characters", text.chars().count())
            }
            _ => clipped(written),
        }
    }
}

fn after(hint: &str) -> String {
    if hint.is_empty() {
        String::new()
    } else {
        format!(" ({hint})")
    }
}

fn clipped(text: &str) -> String {
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(LONGEST_SHOWN).collect();
    let rest = if letters.next().is_some() { "…" } else { "" };
    start + rest
}

fn meant(kind: &Kind, found: &DeValue<'_>) -> String {
    match (kind, found) {
        (Kind::OneOf(words), DeValue::String(text)) => did_you_mean(text, words.iter().copied()),
        _ => String::new(),
    }
}
