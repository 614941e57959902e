//! What a study file may hold: every field with what its value must be, in one table.

use std::fmt;

use model::lever::LeverSetting;
use model::study::STUDY_FORMAT;
use toml::de::DeValue;

use Kind::{Flag, Lever, List, Name, Number, OneOf, Path, Table, Text, Url, Whole};

/// A field of a table.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) must: bool,
    pub(super) kind: Kind,
    /// Said after what was expected; may be empty.
    pub(super) hint: &'static str,
}

/// What a value must be.
pub(super) enum Kind {
    /// From the first to the second, both included.
    Whole(u64, u64),
    /// Above the first, up to the second.
    Number(f64, f64),
    /// Not blank, of so many characters at most.
    Text(usize),
    /// Lower-case words joined by hyphens: it becomes part of a file's name.
    Name,
    Url,
    /// Of a request.
    Path,
    Flag,
    OneOf(&'static [&'static str]),
    Lever,
    List(&'static Kind),
    Table(&'static [Field]),
}

/// The longest name, in characters.
const NAME_LENGTH: usize = 64;
/// The longest URL, path or lever, in characters.
const WORD_LENGTH: usize = 2_000;
/// The most items of a list: each step is a server that runs through the whole study.
pub(super) const MOST_ITEMS: usize = 64;

pub(super) const STUDY: &[Field] = &[
    must("format", Whole(STUDY_FORMAT as u64, STUDY_FORMAT as u64))
        .hint("a file of another format is for another version of Linerate"),
    must("name", Name),
    must("title", Text(200)),
    must("question", Text(1_000)),
    must("method", Text(10_000)),
    may("pitfalls", List(&Text(1_000))),
    may("source", Table(SOURCE)),
    must("design", Table(DESIGN)),
    must("workload", Table(WORKLOAD)),
    may("latency", Table(LATENCY)),
    may("floor", Flag),
    must("baseline", Table(BASELINE)),
    may("step", List(&Table(STEP))),
];

const SOURCE: &[Field] = &[
    must("title", Text(200)),
    must("url", Url),
    must("year", Whole(1950, 2200)),
    must("machine", Text(1_000)),
    may("not_crossed", List(&Table(NOT_CROSSED))),
];

const NOT_CROSSED: &[Field] = &[
    must("title", Text(200)),
    must("why", Text(1_000)),
    may("gain", Number(-1.0, 1e6)).hint("a share: 0.28 is +28 %"),
];

const DESIGN: &[Field] = &[
    must("kind", OneOf(&["ladder", "compare"])),
    must("rounds", Whole(1, 1_000)).hint("verdicts need 10"),
    must("settle_ms", Whole(0, 60_000)).hint("50 to 100 is usual"),
    must("score_ms", Whole(10, 60_000)).hint("half a second or more gives steady figures"),
    must("smallest_effect", Number(0.0, 0.9)).hint("a share: 0.03 is 3 %"),
];

const WORKLOAD: &[Field] = &[
    may("path", Path),
    must("connections", Whole(1, 10_000)),
    may("threads", Whole(1, 1_000)).hint("no more than connections"),
];

const LATENCY: &[Field] = &[
    must("rate_share", Number(0.0, 1.0)).hint("a share of what the slower arm can carry"),
    must("blocks", Whole(1, 1_000)),
    must("score_ms", Whole(10, 60_000)),
];

const BASELINE: &[Field] = &[
    must("title", Text(200)),
    may("levers", List(&Lever)),
    may("published", Table(PUBLISHED)),
];

const STEP: &[Field] = &[
    must("name", Name),
    must("title", Text(200)),
    may("why", Text(1_000)),
    may("add", List(&Lever)),
    may("take_away", List(&Lever)),
    may("published", Table(PUBLISHED)),
];

const PUBLISHED: &[Field] = &[
    must("throughput_rps", Number(0.0, 1e12)).hint("requests per second"),
    may("gain", Number(-1.0, 1e6)).hint("a share: 0.22 is +22 %"),
];

const fn must(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        must: true,
        kind,
        hint: "",
    }
}

const fn may(name: &'static str, kind: Kind) -> Field {
    Field {
        must: false,
        ..must(name, kind)
    }
}

impl Field {
    const fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }
}

impl Kind {
    /// Whether a value that is no list and no table is right.
    pub(super) fn takes(&self, value: &DeValue<'_>) -> bool {
        match (self, value) {
            (Whole(least, most), value) => {
                whole(value).is_some_and(|number| (*least..=*most).contains(&number))
            }
            (Number(above, most), value) => {
                number(value).is_some_and(|number| number > *above && number <= *most)
            }
            (Flag, DeValue::Boolean(_)) => true,
            (kind, DeValue::String(text)) => kind.takes_text(text),
            _ => false,
        }
    }

    fn takes_text(&self, text: &str) -> bool {
        let length = text.chars().count();
        match self {
            Text(most) => {
                let shows = |letter: char| letter == '\n' || !letter.is_control();
                !text.trim().is_empty() && length <= *most && text.chars().all(shows)
            }
            Name => (1..=NAME_LENGTH).contains(&length) && text.bytes().all(is_name_byte),
            Url => starts_with_scheme(text) && length <= WORD_LENGTH && is_graphic(text),
            Path => text.starts_with('/') && length <= WORD_LENGTH && is_graphic(text),
            OneOf(words) => words.contains(&text),
            Lever => length <= WORD_LENGTH && text.parse::<LeverSetting>().is_ok(),
            _ => false,
        }
    }
}

/// What was expected, for a message.
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
            Name => write!(
                out,
                "a name of lower-case letters, digits and hyphens, {NAME_LENGTH} at most"
            ),
            Url => write!(out, "a URL that starts with https:// or http://"),
            Path => write!(out, "a path that starts with `/` and holds no spaces"),
            Flag => write!(out, "true or false"),
            OneOf(words) => write!(out, "one of \"{}\"", words.join("\", \"")),
            Lever => write!(out, "a lever, written \"name\" or \"name=number\""),
            List(of @ Table(_)) => write!(out, "a list of up to {MOST_ITEMS} tables, each {of}"),
            List(of) => write!(out, "a list of up to {MOST_ITEMS} items, each {of}"),
            Table(fields) => write!(out, "a table with {}", names(fields)),
        }
    }
}

/// The names of fields, for a message.
pub(super) fn names(fields: &[Field]) -> String {
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    names.join(", ")
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
