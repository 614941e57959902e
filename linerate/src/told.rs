//! What a command came to, as it is told: one JSON value of a type whose schema is derived, or a page that a template
//! of `linerate/pages` makes of that same value.
//!
//! A template says what stands where; what it takes beside the builtin filters is here. A filter of no value gives no
//! words, so that a part of a sentence is left out where nothing is known of it.

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

/// What several pages have.
const PARTS: &str = include_str!("../pages/parts.txt");
/// Columns of a row's label; what follows a longer one begins later.
const LABEL_WIDTH: usize = 15;
/// Columns of what hangs beside a head, at least.
const LEAST_HUNG: usize = 30;

/// A page as it is compiled in.
#[derive(Clone, Copy)]
pub(crate) struct Template {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// The template of `linerate/pages` of that name.
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

/// Says a result, to a program or to a person.
pub(crate) fn say(result: &impl Serialize, page: Template, as_json: bool, console: &Console) {
    console.say(&if as_json {
        shape::lines(result)
    } else {
        self::page(result, page, console.width())
    });
}

/// The page of a result, with lines of at most so many columns where it wraps any.
///
/// # Panics
/// When a template that is compiled in is wrong, which a test would see.
pub(crate) fn page(result: &impl Serialize, page: Template, width: usize) -> String {
    let text = [PARTS, page.text].concat();
    let made = environment(width).render_named_str(page.name, &text, Serde(json!(result)));
    let made = made.expect("the template is compiled in and a test renders it");
    made.trim_end().to_owned()
}

fn environment(width: usize) -> Environment<'static> {
    let mut templates = Environment::new();
    // What a value lacks is as little as what is null.
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
    // What continues it stands further in.
    templates.add_function("entry", move |text: &str| {
        format!("  {}\n", wrap(text, width.saturating_sub(4)).join("\n    "))
    });
    // A head of any length leaves columns to what hangs beside it.
    templates.add_function("hung", move |head: &str, words: &str| {
        let width = width.max(head.chars().count() + LEAST_HUNG);
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

/// A number in words.
fn number(value: &Value, words: impl FnOnce(f64) -> String) -> Result<String, Error> {
    if is_nothing(value) {
        return Ok(String::new());
    }
    let number = f64::try_from(value.clone());
    number.map(words).map_err(|error| {
        Error::new(ErrorKind::InvalidOperation, "a number is wanted").with_source(error)
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

/// A part of the result as the type that it is of, for words that are said elsewhere too.
fn shown_as<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    let part = serde_json::to_value(value).and_then(serde_json::from_value);
    part.map_err(|error| Error::new(ErrorKind::BadSerialization, "another part").with_source(error))
}

/// A value within words, where `{}` stands; nothing of nothing.
fn into(value: &Value, words: &str) -> String {
    match is_nothing(value) {
        true => String::new(),
        false => words.replace("{}", &value.to_string()),
    }
}

/// The parts that there are, with commas or something else between them.
fn joined(parts: &Value, between: Option<&str>) -> Result<String, Error> {
    let parts = parts.try_iter()?.filter(|part| !is_nothing(part));
    let parts: Vec<String> = parts.map(|part| part.to_string()).collect();
    Ok(parts.join(between.unwrap_or(", ")))
}

/// A label and what is known, which hangs beside it; no row of nothing.
fn row((label, columns): (&str, usize), value: &Value, width: usize) -> String {
    if is_nothing(value) {
        return String::new();
    }
    let label = format!("  {label:columns$} ");
    hanging(&label, &value.to_string(), width).join("\n") + "\n"
}

/// Bytes to three significant digits in the decimal unit that suits them, and a few as they are.
fn bytes(count: f64) -> String {
    match count < 1e3 {
        true => format!("{count:.0} B"),
        false => numbers::quantity(count, "bytes"),
    }
}

/// Bytes in the largest binary unit of which there is one at least.
fn size(bytes: f64) -> String {
    const UNITS: [(&str, u64); 5] = [
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
        ("B", 1),
    ];
    let fits = |(_, unit): &(&str, u64)| bytes >= *unit as f64;
    let (unit, of_bytes) = UNITS.into_iter().find(fits).unwrap_or(("B", 1));
    let amount = bytes / of_bytes as f64;
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
