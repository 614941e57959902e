//! What a study file may hold: every field with what its value must be, in one table.

use std::fmt;

use model::braces;
use model::cpus::MOST_WORKERS;
use model::lever::LeverSetting;
use model::link::Via;
use model::link::spelling::{
    Setting, parse_credit, parse_delay, parse_queue, parse_rate, parse_reorder, parse_share,
};
use model::rig::RigKind;
use model::study::STUDY_FORMAT;
use toml::de::DeValue;

use Kind::{
    Body, Flag, Flat, Items, Lever, List, Map, Name, Number, OneOf, OneOfOr, Path, Spelled, Table,
    Text, TextOrWords, Url, Variable, Whole, Workers,
};

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
    /// One line, not blank, of so many characters at most.
    Flat(usize),
    /// A file's text, of so many characters at most.
    Body(usize),
    /// Lower-case words joined by hyphens: it becomes part of a file's name.
    Name,
    /// What may stand in braces.
    Variable,
    /// A text, or a list of words.
    TextOrWords(usize),
    Url,
    /// How many workers a target has.
    Workers,
    /// Of a request.
    Path,
    Flag,
    OneOf(&'static [&'static str]),
    /// One of these words, or a table with exactly one of these fields.
    OneOfOr(&'static [&'static str], &'static [Field]),
    Lever,
    List(&'static Kind),
    /// A list of so many items at least and at most.
    Items(usize, usize, &'static Kind),
    Table(&'static [Field]),
    /// A table with keys that the author chooses.
    Map(&'static Kind),
    /// A text of which this says what it is, and whether one is that.
    Spelled(&'static str, fn(&str) -> bool),
}

/// The longest name, in characters.
const NAME_LENGTH: usize = 64;
/// The longest URL, path or lever, in characters.
const WORD_LENGTH: usize = 2_000;
/// The most items of a list: each step is a server that runs through the whole study.
pub(crate) const MOST_ITEMS: usize = 64;

/// A study of servers under load. Its first part is what tells whether the rest can be read.
pub(super) const STUDY: &[&[Field]] = &[IDENTITY, PROSE, PARTS];

/// What every study file begins with.
pub(super) const IDENTITY: &[Field] = &[
    must("format", Whole(STUDY_FORMAT as u64, STUDY_FORMAT as u64))
        .hint("a file of another format is for another version of Linerate"),
    must("name", Name),
];

/// What every study says to its readers.
pub(super) const PROSE: &[Field] = &[
    must("title", Text(200)),
    must("question", Text(1_000)),
    must("method", Text(10_000)),
    may("pitfalls", List(&Text(1_000))),
    may("source", Table(SOURCE)),
];

const PARTS: &[Field] = &[
    may("rig", OneOf(RIGS)).hint("the hosts and links to measure on"),
    may("link", Table(LINK)),
    must("design", Table(DESIGN)),
    must("workload", Table(WORKLOAD)),
    may("latency", Table(LATENCY)),
    may("floor", Flag),
    may("whole", Table(WHOLE)).hint("what `--whole` asks of a ladder besides its climb"),
    must("baseline", Table(BASELINE)),
    may("step", List(&Table(STEP))),
];

const RIGS: &[&str] = &{
    let mut names = [""; RigKind::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = RigKind::ALL[index].name();
        index += 1;
    }
    names
};

/// As the flags of `linerate link` are spelled.
const LINK: &[Field] = &[
    may(
        "delay",
        Spelled("a time such as \"20ms\"", |text| parse_delay(text).is_ok()),
    )
    .hint("each way: half a round trip"),
    may(
        "rate",
        Spelled("a rate such as \"20Mbit/s\"", |text| {
            parse_rate(text).is_ok()
        }),
    ),
    may("credit", Spelled(CREDIT, |text| parse_credit(text).is_ok())),
    may(
        "loss",
        Spelled("a share such as \"0.1%\"", |text| parse_share(text).is_ok()),
    ),
    may(
        "reorder",
        Spelled(REORDER, |text| parse_reorder(text).is_ok()),
    ),
    may("queue", Spelled(QUEUE, |text| parse_queue(text).is_ok())),
    may("up", List(&SETTING)).hint("for the way from client to server alone"),
    may("down", List(&SETTING)).hint("for the way from server to client alone"),
    may("seed", Whole(0, i64::MAX.unsigned_abs())),
    may("via", OneOf(VIAS)).hint("what carries the link"),
];
const CREDIT: &str = "a credit such as \"burst=5Gbit/s,bucket=9GB,base=30Mbit/s\"";
const REORDER: &str = "a share such as \"1%\", or with a time as \"1%,2ms\"";
const QUEUE: &str = "packets as \"1000\", a size as \"64kB\" or a time as \"20ms\"";
const SETTING: Kind = Spelled("KEY=VALUE such as \"rate=10Mbit/s\"", |text| {
    text.parse::<Setting>().is_ok()
});

const VIAS: &[&str] = &{
    let mut names = [""; Via::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Via::ALL[index].name();
        index += 1;
    }
    names
};

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
    may("kind", OneOf(&["command"])).hint("without it HTTP requests are sent"),
    may("path", Path),
    must("connections", Whole(1, 10_000)),
    may("threads", Whole(1, 1_000)).hint("no more than connections"),
    may("workers", Workers).hint("of the target"),
];

const LATENCY: &[Field] = &[
    must("rate_share", Number(0.0, 1.0)).hint("a share of what the slower arm can carry"),
    must("blocks", Whole(1, 1_000)),
    must("score_ms", Whole(10, 60_000)),
];

const WHOLE: &[Field] = &[
    may("rig", OneOf(RIGS)).hint("the hosts and links of the whole of it"),
    may("levers", List(&Lever)).hint("what the first state has besides"),
    must("confirm_rounds", Whole(1, 1_000)).hint("verdicts need 10"),
    may("together", List(&Items(2, 2, &Name))).hint("pairs of steps"),
];

const BASELINE: &[Field] = &[
    must("title", Text(200)),
    may("target", Name).hint(TARGET),
    may("levers", List(&Lever)),
    may("published", Table(PUBLISHED)),
];
const TARGET: &str = "\"serve\" or the name of a service";

const STEP: &[Field] = &[
    must("name", Name),
    must("title", Text(200)),
    may("why", Text(1_000)),
    may("whole", Flag).hint("only the whole ladder climbs it"),
    may("target", Name).hint(TARGET),
    may("workers", Whole(1, MOST_WORKERS as u64)),
    may("path", Path).hint("what is asked for, if not the workload's path"),
    may("against", Name).hint("a step before it, if not the baseline"),
    may("add", List(&Lever)),
    may("take_away", List(&Lever)),
    may("published", Table(PUBLISHED)),
];

const PUBLISHED: &[Field] = &[
    must("throughput_rps", Number(0.0, 1e12)).hint("requests per second"),
    may("gain", Number(-1.0, 1e6)).hint("a share: 0.22 is +22 %"),
];

pub(super) const fn must(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        must: true,
        kind,
        hint: "",
    }
}

pub(super) const fn may(name: &'static str, kind: Kind) -> Field {
    Field {
        must: false,
        ..must(name, kind)
    }
}

impl Field {
    pub(super) const fn hint(self, hint: &'static str) -> Self {
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
            (Workers, DeValue::Array(items)) => {
                let counts = items.iter().map(|item| whole(item.get_ref()));
                let counts: Option<Vec<u64>> = counts.collect();
                let is_rising = |counts: &Vec<u64>| counts.is_sorted_by(|one, next| one < next);
                counts.filter(is_rising).is_some_and(|counts| {
                    !counts.is_empty() && counts.into_iter().all(is_of_workers)
                })
            }
            (Workers, DeValue::String(text)) => ["all", "scale"].contains(&text.as_ref()),
            (Workers, value) => whole(value).is_some_and(is_of_workers),
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
            OneOfOr(words, _) => words.contains(&text),
            Spelled(_, is_that) => is_that(text),
            Name => (1..=NAME_LENGTH).contains(&length) && text.bytes().all(is_name_byte),
            Url => starts_with_scheme(text) && length <= WORD_LENGTH && is_graphic(text),
            Path => text.starts_with('/') && length <= WORD_LENGTH && is_graphic(text),
            OneOf(words) => words.contains(&text),
            Lever => length <= WORD_LENGTH && text.parse::<LeverSetting>().is_ok(),
            _ => false,
        }
    }
}

fn is_of_workers(count: u64) -> bool {
    (1..=u64::from(MOST_WORKERS)).contains(&count)
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
            OneOfOr(words, fields) => write!(
                out,
                "\"{}\" or a table with one of {}",
                words.join("\", \""),
                names(*fields)
            ),
            Name => write!(
                out,
                "a name of lower-case letters, digits and hyphens, {NAME_LENGTH} at most"
            ),
            Url => write!(out, "a URL that starts with https:// or http://"),
            Workers => write!(
                out,
                "a number from 1 to {MOST_WORKERS}, rising ones such as [1, 2, 4], \"all\" or \"scale\""
            ),
            Path => write!(out, "a path that starts with `/` and holds no spaces"),
            Flag => write!(out, "true or false"),
            Spelled(what, _) => out.write_str(what),
            OneOf(words) => write!(out, "one of \"{}\"", words.join("\", \"")),
            Lever => write!(out, "a lever, written \"name\" or \"name=value\""),
            List(of @ Table(_)) => write!(out, "a list of up to {MOST_ITEMS} tables, each {of}"),
            List(of) => write!(out, "a list of up to {MOST_ITEMS} items, each {of}"),
            Items(least, most, of) => write!(out, "a list of {least} to {most} items, each {of}"),
            Map(of) => write!(out, "a table of names, each with {of}"),
            Table(fields) => write!(out, "a table with {}", names(*fields)),
        }
    }
}

/// The names of fields, for a message.
pub(super) fn names<'a>(fields: impl IntoIterator<Item = &'a Field>) -> String {
    let names: Vec<&str> = fields.into_iter().map(|field| field.name).collect();
    names.join(", ")
}

/// Whether a text is not blank, not longer than that, and holds no control characters but these.
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
