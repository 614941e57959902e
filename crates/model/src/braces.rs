//! Texts with variables: `{word}` stands for a value, `{{word}}` for `{word}` itself.

/// The variables of a text: the words in single braces.
pub fn words_in_braces(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| match piece {
        Piece::Word(word) => Some(word),
        Piece::Text(_) | Piece::Escaped(_) => None,
    })
}

/// Replaces every variable of a text by what `value_of` returns for it. A variable without a value
/// stays as it is.
pub fn fill(text: &str, value_of: impl Fn(&str) -> Option<String>) -> String {
    pieces(text)
        .map(|piece| match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Escaped(word) => format!("{{{word}}}"),
            Piece::Word(word) => value_of(word).unwrap_or_else(|| format!("{{{word}}}")),
        })
        .collect()
}

/// Whether a text can be the name of a variable: a lower-case letter, followed by lower-case
/// letters, digits and `_`.
pub fn is_word(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.starts_with(|first: char| first.is_ascii_lowercase()) && text.bytes().all(plain)
}

/// A part of a text with variables.
enum Piece<'a> {
    Text(&'a str),
    /// `{word}`
    Word(&'a str),
    /// `{{word}}`
    Escaped(&'a str),
}

/// Splits a text. Braces around anything but a word are plain text, since configurations are full
/// of them.
fn pieces(mut text: &str) -> impl Iterator<Item = Piece<'_>> {
    std::iter::from_fn(move || {
        let (piece, rest) = next_piece(text)?;
        text = rest;
        Some(piece)
    })
}

fn next_piece(text: &str) -> Option<(Piece<'_>, &str)> {
    if text.is_empty() {
        return None;
    }
    if let Some((word, rest)) = braced(text, "{{", "}}") {
        return Some((Piece::Escaped(word), rest));
    }
    if let Some((word, rest)) = braced(text, "{", "}") {
        return Some((Piece::Word(word), rest));
    }
    let brace_after = text.char_indices().skip(1).find(|(_, c)| *c == '{');
    let (piece, rest) = text.split_at(brace_after.map_or(text.len(), |(at, _)| at));
    Some((Piece::Text(piece), rest))
}

/// The word between braces at the beginning of a text, and the rest of the text.
fn braced<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str)> {
    let (word, rest) = text.strip_prefix(open)?.split_once(close)?;
    is_word(word).then_some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_and_other_braces_stay() {
        let value = |word: &str| (word == "port").then(|| "8080".to_owned());
        for (text, filled) in [
            ("listen 127.0.0.1:{port};", "listen 127.0.0.1:8080;"),
            ("{port}{port}", "80808080"),
            ("{ port }{}{{port}}", "{ port }{}{port}"),
            ("'{\"message\":\"{port}\"}'", "'{\"message\":\"8080\"}'"),
            ("{other} {port", "{other} {port"),
            ("é{port}é", "é8080é"),
            ("[0-9]{3}", "[0-9]{3}"),
        ] {
            assert_eq!(fill(text, value), filled);
        }
    }

    #[test]
    fn only_words_in_single_braces_are_variables() {
        let text = "a {b} {{c}} {d e} {F} {g_h}{i2}{3}{";
        let found: Vec<&str> = words_in_braces(text).collect();
        assert_eq!(found, ["b", "g_h", "i2"]);
    }
}
