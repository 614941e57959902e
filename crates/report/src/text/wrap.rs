//! Breaks text into lines of a given width.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::numbers;

/// Fills lines with words, and makes characters visible that would steer the terminal. A number
/// stays with its unit. A word wider than a line is cut, because a terminal would cut it too.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let glued = numbers::glued(&foreign::shown(text));
    for word in glued.split_ascii_whitespace() {
        let used = lines.last().map_or(0, |line| columns(line));
        let gap = usize::from(used > 0);
        if used > 0 && used + gap + columns(word) > width {
            lines.push(String::new());
        }
        append(&mut lines, &word.replace('\u{a0}', " "), width);
    }
    lines
}

/// Sets lines behind a mark, such as a list's dash; further lines are indented to the first word.
pub fn hanging(mark: &str, text: &str, width: usize) -> Vec<String> {
    let indent = columns(mark);
    wrap(text, width.saturating_sub(indent).max(1))
        .into_iter()
        .enumerate()
        .map(|(index, line)| match index {
            0 => format!("{mark}{line}"),
            _ => format!("{}{line}", " ".repeat(indent)),
        })
        .collect()
}

/// Columns that a text takes on a terminal: two for each Chinese, Japanese or Korean letter.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Appends a word to the last line, and breaks it where the line is full.
fn append(lines: &mut Vec<String>, word: &str, width: usize) {
    let Some(mut line) = lines.pop() else { return };
    if !line.is_empty() {
        line.push(' ');
    }
    for letter in word.chars() {
        let needed = columns(&line) + letter.width().unwrap_or(0);
        if needed > width && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        line.push(letter);
    }
    lines.push(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fill_lines_and_none_is_lost() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), [""]);
    }

    #[test]
    fn a_word_wider_than_the_line_is_cut_and_not_lost() {
        assert_eq!(wrap("a abcdefgh b", 3), ["a", "abc", "def", "gh", "b"]);
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(wrap("costs 6.1 µs", 9), ["costs", "6.1 µs"]);
    }

    #[test]
    fn lines_under_a_mark_stand_under_its_first_word() {
        assert_eq!(hanging("- ", "one two", 5), ["- one", "  two"]);
    }

    #[test]
    fn a_wide_letter_takes_two_columns_and_an_accent_none() {
        assert_eq!(columns("小型 JSON"), 9);
        assert_eq!(columns("e\u{301}"), 1);
    }

    #[test]
    fn text_without_spaces_is_cut_between_letters_and_never_wider_than_the_line() {
        assert_eq!(wrap("小型回應很快", 5), ["小型", "回應", "很快"]);
        assert_eq!(wrap("小型", 1), ["小", "型"]);
    }

    #[test]
    fn what_steers_the_terminal_is_shown_before_it_is_measured() {
        assert_eq!(wrap("a\u{202e}cba", 7), [r"a\u202e", "cba"]);
    }
}
