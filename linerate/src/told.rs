//! Prints the result of a command: as one JSON value of a type whose schema is derived, or as a
//! page that a template of `linerate/pages` renders from that same value.
//!
//! A template arranges the page; the filters and functions that it needs beside the built-in ones
//! are here. A filter renders a missing value as an empty string, so that a part of a sentence is
//! left out where its value is not known.

use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior};
use model::reading::Errors;
use report::numbers;
use report::text::{hanging, wrap};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::console::Console;
use crate::shape;

/// Macros that several pages share.
const PARTS: &str = include_str!("../pages/parts.txt");
/// Columns of a row's label; the value of a longer label starts further right.
const LABEL_WIDTH: usize = 15;
/// Fewest columns of the text that hangs beside a head.
const FEWEST_HANGING_COLUMNS: usize = 30;

/// A template that is compiled in.
#[derive(Clone, Copy)]
pub(crate) struct Template {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// The template of `linerate/pages` with this name.
macro_rules! template {
    ($name:literal) => {
        $crate::told::Template {
            name: $name,
            text: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/pages/",
                $name,
                ".txt"
            )),
        }
    };
}
pub(crate) use template;

/// Prints a result, as JSON for a program or as a page for a person.
pub(crate) fn say(result: &impl Serialize, page: Template, as_json: bool, console: &Console) {
    console.say(&if as_json {
        shape::lines(result)
    } else {
        self::page(result, page, console.width())
    });
}

/// Renders the page of a result; the lines that it wraps have at most `width` columns.
///
/// # Panics
/// When a compiled-in template is wrong, which a test would find.
pub(crate) fn page(result: &impl Serialize, page: Template, width: usize) -> String {
    let text = [PARTS, page.text].concat();
    let rendered = environment(width).render_named_str(page.name, &text, Serde(json!(result)));
    let rendered = rendered.expect("the template is compiled in and a test renders it");
    rendered.trim_end().to_owned()
}

fn environment(width: usize) -> Environment<'static> {
    let mut templates = Environment::new();
    // A field that is absent renders as one that is null.
    templates.set_undefined_behavior(UndefinedBehavior::Chainable);
    templates.add_filter("whole", |value: Value| number(&value, numbers::whole));
    templates.add_filter("rate", |value: Value| number(&value, numbers::rate));
    templates.add_filter("share", |value: Value| number(&value, numbers::share));
    templates.add_filter("micros", |value: Value| number(&value, numbers::micros));
    templates.add_filter("roughly", |value: Value| {
        number(&value, numbers::micros_roughly)
    });
    templates.add_filter("seconds", |value: Value| number(&value, numbers::seconds));
    templates.add_filter("plain", |value: Value| number(&value, |n| n.to_string()));
    templates.add_filter("bytes", |value: Value| number(&value, bytes));
    templates.add_filter("bits", |value: Value| number(&value, numbers::bit_rate));
    templates.add_filter("link", |value: Value| {
        shown_as(&value).map(|plan| report::link::words(&plan))
    });
    templates.add_filter("size", |value: Value| number(&value, size));
    templates.add_filter("fixed", |value: Value, digits: usize| {
        number(&value, |number| format!("{number:.digits$}"))
    });
    templates.add_filter("scaled", scaled);
    templates.add_filter("failed", |value: Value| {
        shown_as(&value).map(|errors: Errors| errors.failed())
    });
    templates.add_filter("left", |value: Value, width: usize| {
        format!("{:<width$}", value.to_string())
    });
    templates.add_filter("right", |value: Value, width: usize| {
        format!("{:>width$}", value.to_string())
    });
    templates.add_filter("into", into);
    templates.add_filter("joined", joined);
    templates.add_filter("wrapped", move |text: &str| wrap(text, width).join("\n"));
    // Continuation lines are indented further.
    templates.add_function("entry", move |text: &str| {
        format!("  {}\n", wrap(text, width.saturating_sub(4)).join("\n    "))
    });
    // However long the head is, the text beside it keeps its fewest columns.
    templates.add_function("hung", move |head: &str, words: &str| {
        let width = width.max(head.chars().count() + FEWEST_HANGING_COLUMNS);
        let lines = hanging(head, words, width).join("\n");
        lines.trim_end().to_owned()
    });
    templates.add_function(
        "row",
        move |label: &str, value: Value, of: Option<usize>| {
            row((label, of.unwrap_or(LABEL_WIDTH)), &value, width)
        },
    );
    templates
}

/// Formats a number; an empty string for a missing value.
fn number(value: &Value, words: impl FnOnce(f64) -> String) -> Result<String, Error> {
    if is_nothing(value) {
        return Ok(String::new());
    }
    let number = f64::try_from(value.clone());
    number.map(words).map_err(|error| {
        Error::new(ErrorKind::InvalidOperation, "a number is expected").with_source(error)
    })
}

fn scaled(value: Value, factor: f64) -> Result<Value, Error> {
    if is_nothing(&value) {
        return Ok(value);
    }
    Ok((f64::try_from(value)? * factor).into())
}

fn is_nothing(value: &Value) -> bool {
    value.is_undefined() || value.is_none() || value.as_str() == Some("")
}

/// Converts a part of the result back to its own type, for texts that other code makes too.
fn shown_as<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    let part = serde_json::to_value(value).and_then(serde_json::from_value);
    part.map_err(|error| Error::new(ErrorKind::BadSerialization, "wrong type").with_source(error))
}

/// Puts a value into words in place of `{}`; an empty string for a missing value.
fn into(value: &Value, words: &str) -> String {
    match is_nothing(value) {
        true => String::new(),
        false => words.replace("{}", &value.to_string()),
    }
}

/// Joins the parts that are not missing, with commas or with `between`.
fn joined(parts: &Value, between: Option<&str>) -> Result<String, Error> {
    let parts = parts.try_iter()?.filter(|part| !is_nothing(part));
    let parts: Vec<String> = parts.map(|part| part.to_string()).collect();
    Ok(parts.join(between.unwrap_or(", ")))
}

/// A label with its value hanging beside it; an empty string for a missing value.
fn row((label, columns): (&str, usize), value: &Value, width: usize) -> String {
    if is_nothing(value) {
        return String::new();
    }
    let label = format!("  {label:columns$} ");
    hanging(&label, &value.to_string(), width).join("\n") + "\n"
}

/// Bytes to three significant digits in a fitting decimal unit; below 1,000 in whole bytes.
fn bytes(count: f64) -> String {
    match count < 1e3 {
        true => format!("{count:.0} B"),
        false => numbers::quantity(count, "bytes"),
    }
}

/// Bytes in the largest binary unit that they fill at least once.
fn size(bytes: f64) -> String {
    const UNITS: [(&str, u64); 5] = [
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
        ("B", 1),
    ];
    let fits = |(_, unit): &(&str, u64)| bytes >= *unit as f64;
    let (unit, unit_bytes) = UNITS.into_iter().find(fits).unwrap_or(("B", 1));
    let amount = bytes / unit_bytes as f64;
    let digits = usize::from(amount.fract() > 0.05 && amount < 100.0);
    format!("{amount:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::inventory::Inventory;

    #[test]
    fn sizes_are_told_in_the_unit_that_fits() {
        for (bytes, told) in [
            (0_u64, "0 B"),
            (512, "512 B"),
            (49_152, "48 KiB"),
            (25_165_824_000, "23.4 GiB"),
            (274_877_906_944, "256 GiB"),
            (1 << 51, "2048 TiB"),
        ] {
            assert_eq!(size(bytes as f64), told);
        }
    }

    #[test]
    fn bytes_that_were_carried_have_three_digits_however_few_they_were() {
        for (count, told) in [
            (0.0, "0 B"),
            (84.0, "84 B"),
            (62_500.0, "62.5 kB"),
            (1.31e6, "1.31 MB"),
            (2.642e9, "2.64 GB"),
        ] {
            assert_eq!(bytes(count), told);
        }
    }

    #[test]
    fn an_empty_machine_has_a_page() {
        let page = page(&Inventory::default(), template!("facts"), 80);
        assert!(page.contains("0 CPUs"), "{page}");
    }
}
