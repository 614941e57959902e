//! Every way to make one field of a study file wrong.

use std::collections::HashSet;
use std::fmt;

use toml::Value;

/// A study file with one thing wrong.
pub(crate) struct Mutation {
    /// The field's keys, joined by dots; lists are passed through.
    pub(crate) field: String,
    /// What was done to the field.
    pub(crate) how: &'static str,
    pub(crate) text: String,
}

impl Mutation {
    /// The last key of the field.
    pub(crate) fn key(&self) -> &str {
        self.field.rsplit('.').next().unwrap()
    }

    /// Whether a line of the file is where a reader must look: the line of the field or of a table
    /// around it. A field that is missing, or an item that is there twice, may cause an error
    /// elsewhere.
    pub(crate) fn is_at(&self, line: &str) -> bool {
        let has_a_key = self.field.split('.').any(|key| line.contains(key));
        let is_list_item = line.starts_with(char::is_whitespace);
        let elsewhere = ["missing", "with its first item twice"].contains(&self.how);
        has_a_key || is_list_item || elsewhere
    }
}

impl fmt::Display for Mutation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.field, self.how)
    }
}

/// The place of a value: keys, and a number where the step is into a list.
type Path = Vec<String>;

/// All mutations of one study. Of a field that occurs in several items of a list, one of each type
/// is enough: all items are checked against the same table.
pub(crate) fn mutations(study: &str) -> Vec<Mutation> {
    let whole: Value = Value::Table(study.parse().unwrap());
    let mut paths = Vec::new();
    collect(&whole, &mut Vec::new(), &mut paths);
    let mut seen = HashSet::new();
    paths.retain(|path| {
        seen.insert((
            keys(path).join("."),
            at(&mut whole.clone(), path).type_str(),
        ))
    });
    paths
        .iter()
        .flat_map(|path| of_field(&whole, path))
        .collect()
}

/// The keys of a path, lists passed through.
fn keys(path: &[String]) -> Vec<&str> {
    let is_key = |key: &&str| key.parse::<usize>().is_err();
    path.iter().map(String::as_str).filter(is_key).collect()
}

/// The paths of all values below the root.
fn collect(value: &Value, here: &mut Path, paths: &mut Vec<Path>) {
    let mut visit = |key: String, below: &Value| {
        here.push(key);
        paths.push(here.clone());
        collect(below, here, paths);
        here.pop();
    };
    match value {
        Value::Table(table) => table
            .iter()
            .for_each(|(key, below)| visit(key.clone(), below)),
        Value::Array(items) => {
            (0..)
                .zip(items)
                .for_each(|(index, below): (usize, _)| visit(index.to_string(), below));
        }
        _ => {}
    }
}

fn of_field(whole: &Value, path: &Path) -> Vec<Mutation> {
    let now = at(&mut whole.clone(), path).clone();
    let put = |how, value: Value| {
        let mut changed = whole.clone();
        *at(&mut changed, path) = value;
        mutation(path, how, &changed)
    };
    let mut all: Vec<Mutation> = wrong_types()
        .into_iter()
        .filter(|(_, value)| !value.same_type(&now))
        .chain(wrong_values(&now))
        .map(|(how, value)| put(how, value))
        .collect();
    let (key, parent) = path.split_last().unwrap();
    if key.parse::<usize>().is_err() {
        all.push(without(whole, parent, key));
        all.push(misspelt(whole, parent, key));
    }
    all
}

fn without(whole: &Value, parent: &[String], key: &str) -> Mutation {
    let mut changed = whole.clone();
    at(&mut changed, parent).as_table_mut().unwrap().remove(key);
    mutation(&[parent, &[key.to_owned()]].concat(), "missing", &changed)
}

fn misspelt(whole: &Value, parent: &[String], key: &str) -> Mutation {
    let mut changed = whole.clone();
    let table = at(&mut changed, parent).as_table_mut().unwrap();
    let value = table.remove(key).unwrap();
    table.insert(format!("{key}s"), value);
    mutation(&[parent, &[key.to_owned()]].concat(), "misspelt", &changed)
}

/// A value of each type.
fn wrong_types() -> Vec<(&'static str, Value)> {
    vec![
        ("as a text", Value::String("x".to_owned())),
        ("as a whole number", Value::Integer(7)),
        ("as a broken number", Value::Float(1.5)),
        ("as a truth", Value::Boolean(true)),
        ("as a date", Value::Datetime("2026-01-01".parse().unwrap())),
        ("as an empty list", Value::Array(Vec::new())),
        ("as a list", Value::Array(vec![Value::Integer(1)])),
        ("as an empty table", Value::Table(toml::Table::new())),
    ]
}

/// Values of the right type that make no sense.
fn wrong_values(now: &Value) -> Vec<(&'static str, Value)> {
    let text = |text: &str| Value::String(text.to_owned());
    match now {
        Value::String(_) => vec![
            ("empty", text("")),
            ("blank", text("  ")),
            ("over-long", text(&"x".repeat(100_000))),
            ("with an escape", text("\u{1b}[31mred")),
            ("with a zero", text("a\0b")),
            ("as no word of ours", text("No Such Word")),
        ],
        Value::Integer(_) => vec![
            ("zero", Value::Integer(0)),
            ("negative", Value::Integer(-1)),
            ("huge", Value::Integer(i64::MAX)),
        ],
        Value::Float(_) => vec![
            ("zero", Value::Float(0.0)),
            ("negative", Value::Float(-3.5)),
            ("huge", Value::Float(1e300)),
            ("NaN", Value::Float(f64::NAN)),
            ("infinite", Value::Float(f64::INFINITY)),
        ],
        // An empty list stays empty however often it is repeated.
        Value::Array(items) if items.is_empty() => Vec::new(),
        Value::Array(items) => vec![
            (
                "with its first item twice",
                Value::Array([&items[..1], items].concat()),
            ),
            (
                "a thousand long",
                Value::Array(items.iter().cycle().take(1_000).cloned().collect()),
            ),
        ],
        _ => Vec::new(),
    }
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, key| match value {
        Value::Table(table) => &mut table[key.as_str()],
        Value::Array(items) => &mut items[key.parse::<usize>().unwrap()],
        _ => panic!("{key} is not there"),
    })
}

fn mutation(path: &[String], how: &'static str, changed: &Value) -> Mutation {
    Mutation {
        field: keys(path).join("."),
        how,
        text: toml::to_string(changed).unwrap(),
    }
}
