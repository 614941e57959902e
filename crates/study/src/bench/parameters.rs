//! Parameters of commands: lists, ranges, their combinations, and `{name}` filled in.

use std::collections::BTreeMap;

use crate::refusal::Refusal;

/// Most values of one range; more would be more commands than anybody reads.
const MOST_VALUES: usize = 1000;
/// Most places after the point in a decimal of a range.
const MOST_DECIMALS: usize = 9;

/// A name and the values that are put in its place in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    pub values: Vec<String>,
}

impl Parameter {
    /// Makes a parameter from a list such as `gcc,clang`; `\,` is a comma within a value and `\\` a
    /// backslash.
    pub fn list(name: &str, values: &str) -> Self {
        Self {
            name: name.to_owned(),
            values: split(values),
        }
    }

    /// Makes a parameter from a range, with its last value if the steps meet it. Decimals keep the
    /// places that the step and the start have.
    ///
    /// # Errors
    /// If a text is no number, a step leads nowhere, or there are more than 1000 values.
    pub fn range(name: &str, first: &str, last: &str, step: &str) -> Result<Self, Refusal> {
        let decimals = [first, step].map(places).into_iter().max().unwrap_or(0);
        let scaled = |text: &str| scaled(text, decimals.max(places(last)));
        let shown_places = decimals.max(places(last));
        let (from, to, by) = (scaled(first)?, scaled(last)?, scaled(step)?);
        if by <= 0 || from > to {
            return Err(no_range(&format!("{first} to {last} by {step}")));
        }
        let count = usize::try_from((to - from) / by + 1).unwrap_or(usize::MAX);
        if count > MOST_VALUES {
            return Err(no_range(&format!(
                "{first} to {last} by {step}, which is more than {MOST_VALUES} values,"
            )));
        }
        let value = |index: usize| shown(from + by * index as i128, shown_places, decimals);
        Ok(Self {
            name: name.to_owned(),
            values: (0..count).map(value).collect(),
        })
    }

    /// The text that stands for the parameter in a command.
    pub fn placeholder(&self) -> String {
        format!("{{{}}}", self.name)
    }
}

/// Every combination of the values; the first parameter changes fastest.
pub fn combinations(parameters: &[Parameter]) -> Vec<BTreeMap<String, String>> {
    parameters
        .iter()
        .rev()
        .fold(vec![BTreeMap::new()], |combined, parameter| {
            combined
                .iter()
                .flat_map(|others| {
                    parameter.values.iter().map(|value| {
                        let mut values = others.clone();
                        values.insert(parameter.name.clone(), value.clone());
                        values
                    })
                })
                .collect()
        })
}

/// Fills in every `{name}` of the values, in one pass: what a value brings in is not filled in
/// again.
pub fn fill(template: &str, values: &BTreeMap<String, String>) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let named = values.iter().find(|(name, _)| {
            let inner = from[1..].strip_prefix(name.as_str());
            inner.is_some_and(|inner| inner.starts_with('}'))
        });
        let taken = match named {
            Some((name, value)) => {
                text.push_str(value);
                name.len() + 2
            }
            None => {
                text.push('{');
                1
            }
        };
        rest = &from[taken..];
    }
    text + rest
}

fn split(list: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut signs = list.chars().peekable();
    while let Some(sign) = signs.next() {
        let Some(value) = values.last_mut() else {
            break;
        };
        match (sign, signs.peek()) {
            ('\\', Some(&escaped @ (',' | '\\'))) => {
                value.push(escaped);
                signs.next();
            }
            (',', _) => values.push(String::new()),
            _ => value.push(sign),
        }
    }
    values
}

fn places(number: &str) -> usize {
    number.split_once('.').map_or(0, |(_, places)| places.len())
}

/// Refuses a range that has no values, or too many.
fn no_range(what: &str) -> Refusal {
    Refusal(format!(
        "{what} is no range; give numbers, the smaller first, and a step above zero"
    ))
}

/// Reads a decimal as a whole number in units of its last place, so that steps add up exactly.
fn scaled(number: &str, decimals: usize) -> Result<i128, Refusal> {
    let wrong = || no_range(&format!("`{number}`"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || whole.is_empty() || decimals > MOST_DECIMALS || whole.len() > 18 {
        return Err(wrong());
    }
    format!("{whole}{fraction:0<decimals$}")
        .parse()
        .map_err(|_| wrong())
}

fn shown(value: i128, scale: usize, decimals: usize) -> String {
    let unit = 10_i128.pow(u32::try_from(scale).unwrap_or(0));
    let sign = if value < 0 { "-" } else { "" };
    let (whole, fraction) = (value.abs() / unit, value.abs() % unit);
    let places = format!("{fraction:0scale$}");
    match decimals {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{}", &places[..decimals]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn a_list_is_split_at_commas_that_are_not_escaped() {
        let of = |list| Parameter::list("x", list).values;
        assert_eq!(of("gcc,clang"), ["gcc", "clang"]);
        assert_eq!(of(r"a\,b,c\\,\n"), ["a,b", r"c\", r"\n"]);
        assert_eq!(of(",a"), ["", "a"]);
    }

    #[test]
    fn a_range_holds_both_ends_and_adds_decimals_up_exactly() {
        let of = |first, last, step| Parameter::range("x", first, last, step).map(|p| p.values);
        assert_eq!(of("1", "3", "1").unwrap(), ["1", "2", "3"]);
        assert_eq!(of("0.3", "0.7", "0.2").unwrap(), ["0.3", "0.5", "0.7"]);
        assert_eq!(
            of("-1", "1", "0.5").unwrap(),
            ["-1.0", "-0.5", "0.0", "0.5", "1.0"]
        );
        assert_eq!(of("0", "1.5", "1").unwrap(), ["0", "1"]);
    }

    #[test]
    fn a_range_that_leads_nowhere_is_refused() {
        for (first, last, step) in [
            ("1", "3", "0"),
            ("3", "1", "1"),
            ("1", "3", "-1"),
            ("a", "3", "1"),
            ("1", "", "1"),
            ("1.", "1e3", "1"),
            ("0", "1", "0.00000000001"),
            ("0", "100000", "1"),
            ("0", "99999999999999999999999999999999999999999", "1"),
        ] {
            assert!(
                Parameter::range("x", first, last, step).is_err(),
                "{first} {last} {step}"
            );
        }
    }

    #[test]
    fn the_first_parameter_changes_fastest() {
        let found = combinations(&[Parameter::list("a", "1,2"), Parameter::list("b", "x,y")]);
        let expected = [("1", "x"), ("2", "x"), ("1", "y"), ("2", "y")];
        assert_eq!(found, expected.map(|(a, b)| values(&[("a", a), ("b", b)])));
    }

    #[test]
    fn no_parameters_give_one_empty_combination() {
        assert_eq!(combinations(&[]), [BTreeMap::new()]);
    }

    #[test]
    fn what_a_value_brings_in_is_not_filled_in_again() {
        let given = values(&[("foo", "{bar} baz"), ("bar", "quux")]);
        assert_eq!(
            fill("echo {foo} {bar} ${HOME} {", &given),
            "echo {bar} baz quux ${HOME} {"
        );
    }
}
