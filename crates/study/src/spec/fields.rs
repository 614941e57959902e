//! The fields that a study file may have and what their values must be, in one table of data.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use model::braces;
use model::cpus::MOST_WORKERS;
use model::lever::LeverSetting;
use model::link::spelling::{
    Setting, parse_credit, parse_delay, parse_queue, parse_rate, parse_reorder, parse_share,
};
use serde::Deserialize;
use toml::de::DeValue;

use crate::pinned;

use Kind::{
    Body, Flag, Flat, Items, Lever, List, Map, Name, NameOf, Number, OneOf, OneOfOr, Path, Spelled,
    Table, Text, TextOrWords, Url, Variable, Whole, Workers,
};

/// Maps each table to its fields.
static TABLES: LazyLock<BTreeMap<String, Vec<Field>>> = LazyLock::new(|| {
    toml::from_str(include_str!("fields.toml")).expect("every test of a study file reads it")
});

/// A field of a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Field {
    pub(super) name: String,
    #[serde(default)]
    pub(super) must: bool,
    #[serde(rename = "is")]
    pub(super) kind: Kind,
    /// Appended to what was expected in a message; may be empty.
    #[serde(default)]
    pub(super) hint: String,
}

/// What a value must be.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A whole number from the first to the second, both included.
    Whole(u64, u64),
    /// A number above the first, up to the second.
    Number(f64, f64),
    /// A text that is not blank, of at most this many characters.
    Text(usize),
    /// One line that is not blank, of at most this many characters.
    Flat(usize),
    /// The text of a file, of at most this many characters.
    Body(usize),
    /// Lower-case words joined by hyphens: it becomes part of a file's name.
    Name,
    /// The name of an item of this list in the file.
    NameOf(String),
    /// A name that may stand in braces.
    Variable,
    /// A text, or a list of words, of at most this many characters each.
    TextOrWords(usize),
    Url,
    /// The number of workers of a target, or several.
    Workers,
    /// The path of a request.
    Path,
    Flag,
    OneOf(Vec<String>),
    /// One of these words, or a table with exactly one of the fields of that table.
    OneOfOr(Vec<String>, String),
    Lever,
    List(Box<Kind>),
    /// A list of at least the first and at most the second number of items.
    Items(usize, usize, Box<Kind>),
    /// A table with the fields that [`TABLES`] has under this name.
    Table(String),
    /// A table with keys that the author chooses.
    Map(Box<Kind>),
    Spelled(Spelling),
}

/// A value that is spelled as on the command line: a target, or a property of a link.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Spelling {
    Delay,
    Rate,
    Credit,
    Share,
    Reorder,
    Queue,
    Setting,
    Target,
}

/// Longest name, characters.
pub(super) const NAME_LENGTH: usize = 64;
/// Longest URL, path or lever, characters.
const WORD_LENGTH: usize = 2_000;
/// Most items of a list, because each step is a server that runs throughout the study.
pub(crate) const MOST_ITEMS: usize = 64;

/// Returns the fields of a table.
pub(super) fn table(name: &str) -> &'static [Field] {
    TABLES.get(name).map_or(&[], Vec::as_slice)
}

impl Spelling {
    fn accepts(self, text: &str) -> bool {
        match self {
            Self::Delay => parse_delay(text).is_ok(),
            Self::Rate => parse_rate(text).is_ok(),
            Self::Credit => parse_credit(text).is_ok(),
            Self::Share => parse_share(text).is_ok(),
            Self::Reorder => parse_reorder(text).is_ok(),
            Self::Queue => parse_queue(text).is_ok(),
            Self::Setting => text.parse::<Setting>().is_ok(),
            Self::Target => pinned::is_target(text),
        }
    }

    /// Describes the spelling, for a message.
    fn words(self) -> &'static str {
        match self {
            Self::Delay => "a time such as \"20ms\"",
            Self::Rate => "a rate such as \"20Mbit/s\"",
            Self::Credit => "a credit such as \"burst=5Gbit/s,bucket=9GB,base=30Mbit/s\"",
            Self::Share => "a share such as \"0.1%\"",
            Self::Reorder => "a share such as \"1%\", or with a time as \"1%,2ms\"",
            Self::Queue => "packets as \"1000\", a size as \"64kB\" or a time as \"20ms\"",
            Self::Setting => "KEY=VALUE such as \"rate=10Mbit/s\"",
            Self::Target => pinned::TARGET,
        }
    }
}

impl Kind {
    /// Whether a value that is neither a list nor a table is right.
    pub(super) fn takes(&self, value: &DeValue<'_>) -> bool {
        match (self, value) {
            (Whole(least, most), value) => {
                whole(value).is_some_and(|number| (*least..=*most).contains(&number))
            }
            (Workers, DeValue::Array(items)) => {
                let counts = items.iter().map(|item| whole(item.get_ref()));
                let counts: Option<Vec<u64>> = counts.collect();
                let is_rising = |counts: &Vec<u64>| counts.is_sorted_by(|one, next| one < next);
                counts.filter(is_rising).is_some_and(|counts| {
                    !counts.is_empty() && counts.into_iter().all(is_worker_count)
                })
            }
            (Workers, DeValue::String(text)) => ["all", "scale"].contains(&text.as_ref()),
            (Workers, value) => whole(value).is_some_and(is_worker_count),
            (Number(above, most), value) => {
                number(value).is_some_and(|number| number > *above && number <= *most)
            }
            (Flag, DeValue::Boolean(_)) => true,
            (TextOrWords(most), DeValue::Array(words)) => {
                words.len() <= MOST_ITEMS
                    && words.iter().all(|word| Text(*most).takes(word.get_ref()))
            }
            (kind, DeValue::String(text)) => kind.takes_text(text),
            _ => false,
        }
    }

    fn takes_text(&self, text: &str) -> bool {
        let length = text.chars().count();
        match self {
            Text(most) | TextOrWords(most) => is_shown(text, *most, "\n"),
            Flat(most) => is_shown(text, *most, ""),
            Body(most) => is_shown(text, *most, "\n\t"),
            Variable => length <= NAME_LENGTH && braces::is_word(text),
            NameOf(_) => length <= NAME_LENGTH,
            Spelled(spelling) => spelling.accepts(text),
            Name => (1..=NAME_LENGTH).contains(&length) && text.bytes().all(is_name_byte),
            Url => starts_with_scheme(text) && length <= WORD_LENGTH && is_graphic(text),
            Path => text.starts_with('/') && length <= WORD_LENGTH && is_graphic(text),
            OneOf(words) | OneOfOr(words, _) => words.iter().any(|word| word == text),
            Lever => length <= WORD_LENGTH && text.parse::<LeverSetting>().is_ok(),
            _ => false,
        }
    }
}

fn is_worker_count(count: u64) -> bool {
    (1..=u64::from(MOST_WORKERS)).contains(&count)
}

/// Shows what was expected, for a message.
impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whole(only, most) if only == most => write!(out, "{only}"),
            Whole(least, most) => write!(out, "a whole number from {least} to {most}"),
            Number(above, most) => write!(out, "a number above {above}, up to {most}"),
            Text(most) => write!(
                out,
                "a text of 1 to {most} characters without control characters"
            ),
            Flat(most) => write!(out, "a line of 1 to {most} characters"),
            Body(most) => write!(out, "a file's text of 1 to {most} characters"),
            Variable => write!(
                out,
                "a name that can stand in braces: lower-case letters, digits and `_`, \
                 {NAME_LENGTH} at most"
            ),
            TextOrWords(most) => write!(
                out,
                "a text of 1 to {most} characters or a list of up to {MOST_ITEMS} such texts"
            ),
            NameOf(list) => write!(out, "the name of one of `{list}`"),
            OneOfOr(words, of) => write!(
                out,
                "\"{}\" or a table with one of {}",
                words.join("\", \""),
                names(table(of))
            ),
            Name => write!(
                out,
                "a name of lower-case letters, digits and hyphens, {NAME_LENGTH} at most"
            ),
            Url => write!(out, "a URL that starts with https:// or http://"),
            Workers => write!(
                out,
                "a number from 1 to {MOST_WORKERS}, rising numbers such as [1, 2, 4], \"all\" or \"scale\""
            ),
            Path => write!(out, "a path that starts with `/` and holds no spaces"),
            Flag => write!(out, "true or false"),
            Spelled(spelling) => out.write_str(spelling.words()),
            OneOf(words) => write!(out, "one of \"{}\"", words.join("\", \"")),
            Lever => write!(out, "a lever, written \"name\" or \"name=value\""),
            List(of) if matches!(**of, Table(_)) => {
                write!(out, "a list of up to {MOST_ITEMS} tables, each {of}")
            }
            List(of) => write!(out, "a list of up to {MOST_ITEMS} items, each {of}"),
            Items(least, most, of) => write!(out, "a list of {least} to {most} items, each {of}"),
            Map(of) => write!(out, "a table of names, each with {of}"),
            Table(of) => write!(out, "a table with {}", names(table(of))),
        }
    }
}

/// Returns the names of fields, for a message.
pub(super) fn names<'a>(fields: impl IntoIterator<Item = &'a Field>) -> String {
    let names: Vec<&str> = fields
        .into_iter()
        .map(|field| field.name.as_str())
        .collect();
    names.join(", ")
}

/// Whether a text is not blank, has at most `most` characters, and no control characters but these.
fn is_shown(text: &str, most: usize, controls: &str) -> bool {
    let shows = |letter: char| controls.contains(letter) || !letter.is_control();
    !text.trim().is_empty() && text.chars().count() <= most && text.chars().all(shows)
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    match value {
        DeValue::Integer(digits) => u64::from_str_radix(digits.as_str(), digits.radix()).ok(),
        _ => None,
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(digits) => digits.as_str().parse().ok(),
        DeValue::Integer(digits) => digits.as_str().parse().ok(),
        _ => None,
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

fn is_graphic(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn starts_with_scheme(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::link::Via;
    use model::rig::RigKind;
    use model::study::STUDY_FORMAT;

    fn kind(of: &str, name: &str) -> &'static Kind {
        let field = table(of).iter().find(|field| field.name == name);
        &field.unwrap().kind
    }

    #[test]
    fn what_the_model_lists_the_table_lists() {
        let words = |of, name| match kind(of, name) {
            OneOf(words) => words.clone(),
            other => panic!("{other:?}"),
        };
        let rigs = RigKind::ALL.map(RigKind::name);
        assert_eq!(words("servers", "rig"), rigs);
        assert_eq!(words("whole", "rig"), rigs);
        assert_eq!(words("link", "via"), Via::ALL.map(Via::name));
        let of_step = kind("step", "workers").to_string();
        assert!(
            of_step.ends_with(&format!(" 1 to {MOST_WORKERS}")),
            "{of_step}"
        );
        assert_eq!(kind("file", "format").to_string(), STUDY_FORMAT.to_string());
    }
}
