//! Texts that are data, with names in braces where words are filled in.

use std::fmt::Display;

/// Fills in the word for each `{name}`. Braces in a word that is filled in are not replaced.
///
/// # Panics
/// If a name has no word; tests check our own texts for this.
pub(crate) fn fill(template: &str, words: &[(&str, &dyn Display)]) -> String {
    let mut parts = template.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').expect("a name in a text ends");
        let word = words.iter().find(|(known, _)| *known == name);
        let (_, word) = word.expect("each name of a text has a word");
        filled += &word.to_string();
        filled += rest;
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        let filled = fill("{a} and {b}.", &[("a", &"{b}"), ("b", &2)]);
        assert_eq!(filled, "{b} and 2.");
    }
}
