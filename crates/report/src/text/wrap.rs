//! Breaks text into lines of a given width.

use crate::numbers;

/// Fills lines with words, and shows what would steer the terminal as a mark. A number stays with
/// its unit. A word wider than a line is cut, because a terminal would cut it too.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let glued = numbers::glued(&printable(text));
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

/// Lines behind a mark, such as a list's dash; further lines stand under the first word.
pub(crate) fn hanging(mark: &str, text: &str, width: usize) -> Vec<String> {
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

/// Titles come from files and addresses: what would steer the terminal is shown as a mark.
pub(crate) fn printable(text: &str) -> String {
    let mark = |sign: char| sign.is_control() && !sign.is_whitespace();
    text.chars()
        .map(|sign| if mark(sign) { '\u{fffd}' } else { sign })
        .collect()
}

/// Width on the terminal; every sign that we write takes one column.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

fn append(lines: &mut Vec<String>, word: &str, width: usize) {
    let Some(line) = lines.last_mut() else { return };
    if !line.is_empty() {
        line.push(' ');
    }
    for letter in word.chars() {
        if lines.last().is_some_and(|line| columns(line) >= width) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push(letter);
        }
    }
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
}
