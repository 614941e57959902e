//! Texts that are data, with names in braces for what is filled in.

use std::fmt::Display;

/// A text with the word for each `{name}`; what was filled in is not looked at again.
///
/// # Panics
/// Where a name has no word, which the texts of ours are tested for.
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
