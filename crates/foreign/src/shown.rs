//! Makes text of others safe to show on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Writes every character on which a terminal would act as `\uXXXX`, so that JSON still has the
/// same value. Line breaks and tabs stay.
pub fn shown(text: &str) -> Cow<'_, str> {
    shown_but(text, &[])
}

/// Does what [`shown`] does, but leaves the sequences `ours`, with which we colour text.
pub fn shown_but<'a>(text: &'a str, ours: &[&str]) -> Cow<'a, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let kept = ours.iter().copied().chain(["\r\n"]);
        let kept = kept.clone().find(|kept| rest.starts_with(kept));
        let taken = kept.map_or_else(|| letter.len_utf8(), str::len);
        if kept.is_some() || !steers(letter) {
            plain.push_str(&rest[..taken]);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(plain, "\\u{:04x}", u32::from(letter));
        }
        rest = &rest[taken..];
    }
    Cow::Owned(plain)
}

/// Cuts a text after `most_letters` characters, and marks the cut with `…`.
pub fn clipped(text: &str, most_letters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most_letters) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// Whether a character is a control character, reverses the order of the letters after it, or ends
/// a line unseen (Unicode's Bidi_Control, and its separators of lines and paragraphs).
fn steers(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        letter => letter.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_act_on_is_shown_as_what_it_is() {
        assert_eq!(
            shown("a\u{1b}[2Jb\0\u{9b}\u{7f}\r"),
            r"a\u001b[2Jb\u0000\u009b\u007f\u000d"
        );
        assert_eq!(shown("a\u{202e}cba\u{2066}"), r"a\u202ecba\u2066");
        let plain = "小型 “é” 6.1\u{a0}µs\n\ttab\r\nother";
        assert!(matches!(shown(plain), Cow::Owned(same) if same == plain));
        assert!(matches!(shown("word\n\t"), Cow::Borrowed(_)));
    }

    #[test]
    fn only_our_own_paint_is_left() {
        let painted = "\u{1b}[1mstrong\u{1b}[0m \u{1b}[5mother\u{1b}]0;title\u{7}";
        assert_eq!(
            shown_but(painted, &["\u{1b}[1m", "\u{1b}[0m"]),
            "\u{1b}[1mstrong\u{1b}[0m \\u001b[5mother\\u001b]0;title\\u0007"
        );
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        assert_eq!(clipped("小型回應", 2), "小型…");
        assert_eq!(clipped("小型", 2), "小型");
    }
}
