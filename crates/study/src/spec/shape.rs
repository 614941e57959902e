//! Checks a study file against the table of its fields, and finds every value that is missing,
//! unknown or wrong, with its place.

use std::collections::HashSet;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fields::{Field, Kind, MOST_ITEMS, names, table};
use super::nearest::{did_you_mean, unknown};

/// Longest value that a message repeats, characters.
const LONGEST_SHOWN: usize = 40;

/// A problem and its place.
#[derive(Debug)]
pub(super) struct Problem {
    /// Place, in bytes from the start of the file.
    pub(super) at: usize,
    pub(super) what: String,
}

/// Returns the first thing in the file that does not fit the table. In a file of another format
/// only that is reported, because its other fields may mean anything.
pub(super) fn first_problem(text: &str, file: &Spanned<DeTable<'_>>) -> Option<Problem> {
    let mut all = Problems {
        text,
        file: file.get_ref(),
        problems: Vec::new(),
        missing: Vec::new(),
        names: Vec::new(),
    };
    let common = table("file");
    let format = common.iter().find(|field| field.name == "format");
    if let Some((field, value)) = format.zip(file.get_ref().get("format")) {
        all.value("", &field.name, value, &field.kind, &field.hint);
    }
    if all.problems.is_empty() {
        let of_commands = is_of_commands(file.get_ref());
        let own = table(if of_commands { "commands" } else { "servers" });
        all.table("", file.span().start, file.get_ref(), &[common, own]);
    }
    let first = all.problems.into_iter().min_by_key(|problem| problem.at);
    // A missing field may only be misspelt, and then the misspelling says more.
    let missing = all.missing.into_iter().next();
    first.or(missing).or_else(|| all.names.into_iter().next())
}

/// Whether a file is that of a study of commands. Either of two fields is enough, so that with a
/// mistake in one the file does not pass for a study of another kind.
pub(super) fn is_of_commands(file: &DeTable<'_>) -> bool {
    let says = |table: &str, word: &str| {
        let kind = match file.get(table).map(Spanned::get_ref) {
            Some(DeValue::Table(table)) => table.get("kind"),
            _ => None,
        };
        matches!(kind.map(Spanned::get_ref), Some(DeValue::String(kind)) if kind == word)
    };
    says("workload", "command") || says("design", "factorial")
}

struct Problems<'a> {
    text: &'a str,
    file: &'a DeTable<'a>,
    problems: Vec<Problem>,
    missing: Vec<Problem>,
    /// Names that no item has, or that two items have.
    names: Vec<Problem>,
}

impl Problems<'_> {
    /// Checks the fields of a table. They come in groups, which several tables may share.
    fn table(&mut self, path: &str, at: usize, table: &DeTable<'_>, groups: &[&[Field]]) {
        let fields = || groups.iter().copied().flatten();
        for (key, value) in table {
            let name: &str = key.get_ref();
            match fields().find(|field| field.name == name) {
                Some(field) => self.value(path, name, value, &field.kind, &field.hint),
                None => self.unknown(path, name, key.span().start, groups),
            }
        }
        for field in fields() {
            if field.must && !table.contains_key(field.name.as_str()) {
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
        let below = || format!("{path}{name}.");
        match (kind, value.get_ref()) {
            (Kind::Table(of), DeValue::Table(found)) => {
                self.table(&below(), at, found, &[table(of)]);
            }
            (Kind::OneOfOr(_, of), DeValue::Table(found)) if found.len() == 1 => {
                self.table(&below(), at, found, &[table(of)]);
            }
            (Kind::Map(of), DeValue::Table(table)) if table.len() <= MOST_ITEMS => {
                for (key, item) in table {
                    let key = clipped(&key.get_ref().escape_debug().to_string());
                    self.value(&below(), &key, item, of, hint);
                }
            }
            (Kind::List(of), DeValue::Array(items)) if items.len() <= MOST_ITEMS => {
                self.items(path, name, items, of, hint);
            }
            (Kind::Items(least, most, of), DeValue::Array(items))
                if (*least..=*most).contains(&items.len()) =>
            {
                self.items(path, name, items, of, hint);
            }
            (Kind::NameOf(list), DeValue::String(text)) if kind.takes(value.get_ref()) => {
                self.reference(&format!("{path}{name}"), at, list, text);
            }
            (kind, found) if kind.takes(found) => {}
            (kind, _) => self.wrong(path, name, value, kind, hint),
        }
    }

    fn items(
        &mut self,
        path: &str,
        name: &str,
        items: &[Spanned<DeValue<'_>>],
        of: &Kind,
        hint: &str,
    ) {
        for item in items {
            self.value(path, name, item, of, hint);
        }
        let mut taken = HashSet::new();
        let mut named = items.iter().filter_map(name_of);
        if let Some((at, twice)) = named.find(|(_, name)| !taken.insert(*name)) {
            let what = format!(
                "`{path}{name}.name`: something else is called `{twice}`; expected a name of its own"
            );
            self.names.push(Problem { at, what });
        }
    }

    /// Checks that a reference names an item of its list.
    fn reference(&mut self, field: &str, at: usize, list: &str, name: &str) {
        let items = match self.file.get(list).map(Spanned::get_ref) {
            Some(DeValue::Array(items)) => &items[..],
            _ => &[],
        };
        let known: Vec<&str> = items
            .iter()
            .filter_map(name_of)
            .map(|(_, name)| name)
            .collect();
        if !known.contains(&name) {
            let what = unknown(&format!("item of `{list}`"), name, known.iter().copied());
            self.names.push(Problem {
                at,
                what: format!("`{field}`: {what}"),
            });
        }
    }

    fn wrong(
        &mut self,
        path: &str,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        kind: &Kind,
        hint: &str,
    ) {
        let (shown, meant, hint) = (self.shown(value), meant(kind, value.get_ref()), after(hint));
        self.say(
            value.span().start,
            format!("`{path}{name}` is {shown}; expected {kind}{hint}{meant}"),
        );
    }

    fn unknown(&mut self, path: &str, name: &str, at: usize, groups: &[&[Field]]) {
        let fields = || groups.iter().copied().flatten();
        let meant = did_you_mean(name, fields().map(|field| field.name.as_str()));
        let known = names(fields());
        let name = clipped(&format!("{path}{}", name.escape_debug()));
        self.say(
            at,
            format!("there is no field `{name}`; expected one of {known}{meant}"),
        );
    }

    fn missing(&mut self, path: &str, at: usize, field: &Field) {
        let (name, kind, hint) = (&field.name, &field.kind, after(&field.hint));
        let what = format!("`{path}{name}` is missing; expected {kind}{hint}");
        self.missing.push(Problem { at, what });
    }

    fn say(&mut self, at: usize, what: String) {
        self.problems.push(Problem { at, what });
    }

    /// Returns a value as it is in the file, if it is short enough to be read in a message.
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

/// Returns the name of an item of a list, and its place.
fn name_of<'a>(item: &'a Spanned<DeValue<'_>>) -> Option<(usize, &'a str)> {
    let DeValue::Table(table) = item.get_ref() else {
        return None;
    };
    let name = table.get("name")?;
    match name.get_ref() {
        DeValue::String(text) => Some((name.span().start, text)),
        _ => None,
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
        (Kind::OneOf(words) | Kind::OneOfOr(words, _), DeValue::String(text)) => {
            did_you_mean(text, words.iter().map(String::as_str))
        }
        _ => String::new(),
    }
}
