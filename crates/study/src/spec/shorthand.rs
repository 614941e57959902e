//! Writes out the short ways to name the programs of a comparison, before anything else looks at a
//! file.
//!
//! The result has the position of its shorthand, so that errors about it point there.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Error};

use super::fields::NAME_LENGTH;
use crate::pinned;

type Value<'a> = Spanned<DeValue<'a>>;

/// Parses a file, and writes out what it has in short.
pub(super) fn written_out(text: &str) -> Result<Spanned<DeTable<'_>>, Error> {
    let mut file = DeTable::parse(text)?;
    for arms in ["baseline", "step"] {
        match file.get_mut().get_mut(arms).map(Spanned::get_mut) {
            Some(DeValue::Table(arm)) => program(arm),
            Some(DeValue::Array(arms)) => arms.iter_mut().for_each(|arm| {
                if let DeValue::Table(arm) = arm.get_mut() {
                    program(arm);
                }
            }),
            _ => {}
        }
    }
    services(file.get_mut());
    Ok(file)
}

/// Replaces `service` in an arm by `target`; if there is a `program` too, the target is
/// `NAME@PATH`.
fn program(arm: &mut DeTable<'_>) {
    if !arm.contains_key("target")
        && let Some(service) = arm.remove("service")
    {
        put(arm, "target", service);
    }
    let words = |field| arm.get(field).and_then(|value| value.get_ref().as_str());
    if let Some(path) = words("program") {
        let both = format!("{}@{path}", words("target").unwrap_or_default());
        let at = arm.remove("program").map_or(0..0, |path| path.span());
        put(arm, "target", words_at(at, both));
    }
}

/// Replaces `services` in a comparison: the first is the baseline's, unless the baseline has a
/// target, and each of the others becomes a step.
fn services(file: &mut DeTable<'_>) {
    let is_list = |value: &Value<'_>| value.get_ref().is_array();
    let is_there = file.get("services").is_some_and(is_list);
    let Some(list) = is_there.then(|| file.remove("services")).flatten() else {
        return;
    };
    let at = list.span();
    let DeValue::Array(items) = list.into_inner() else {
        return;
    };
    let mut items = items.into_iter();
    let empty = |value| Spanned::new(at.clone(), value);
    let baseline = file.entry(key("baseline", &at));
    let baseline = baseline.or_insert_with(|| empty(DeValue::Table(DeTable::new())));
    if let DeValue::Table(baseline) = baseline.get_mut()
        && !baseline.contains_key("target")
        && let Some(first) = items.next()
    {
        let mut first = arm(first);
        first.remove("name");
        for (field, value) in first {
            baseline.entry(field).or_insert(value);
        }
    }
    let steps = file.entry(key("step", &at));
    let steps = steps.or_insert_with(|| empty(DeValue::Array(DeArray::default())));
    if let DeValue::Array(steps) = steps.get_mut() {
        items.for_each(|item| steps.push(Spanned::new(item.span(), DeValue::Table(arm(item)))));
    }
}

/// Returns an arm with this target; it is named after the target if the target is valid.
fn arm(target: Value<'_>) -> DeTable<'_> {
    let mut arm = DeTable::new();
    let words = target.get_ref().as_str().filter(|it| pinned::is_target(it));
    if let Some(title) = words.map(str::to_owned) {
        let mut name = pinned::name_of(&title);
        name.truncate(NAME_LENGTH);
        put(&mut arm, "name", words_at(target.span(), name));
        put(&mut arm, "title", words_at(target.span(), title));
    }
    put(&mut arm, "target", target);
    arm
}

fn put<'a>(table: &mut DeTable<'a>, field: &'static str, value: Value<'a>) {
    table.insert(key(field, &value.span()), value);
}

fn key(field: &'static str, at: &Range<usize>) -> Spanned<Cow<'static, str>> {
    Spanned::new(at.clone(), field.into())
}

fn words_at<'a>(at: Range<usize>, words: String) -> Value<'a> {
    Spanned::new(at, DeValue::String(words.into()))
}
