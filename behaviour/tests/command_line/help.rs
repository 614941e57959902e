//! Help pages, each checked for what a reader may expect of one.

use crate::command_line::{answer, commands, linerate};
use crate::common::{assert_says, refusal_of};

const LONGEST_SHORT_PAGE_LINES: usize = 40;
const WIDEST_LINE_COLUMNS: usize = 100;

/// Calls `look` with the words of every command and its help page.
fn each_page(form: &str, look: impl Fn(&str, &str)) {
    for words in commands() {
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let page = answer(&[&arguments[..], &[form]].concat());
        look(&words.join(" "), &page);
    }
}

#[test]
fn every_flag_of_every_command_is_explained() {
    each_page("--help", |command, page| {
        let lines: Vec<&str> = page.lines().collect();
        let flags = (0..lines.len()).filter(|at| is_flag(lines[*at]));
        assert!(
            flags.clone().count() >= 2,
            "{command} has --help and --quiet"
        );
        for at in flags {
            let beside = lines[at].trim_start().contains("  ");
            let next = lines.get(at + 1).map_or("", |line| line);
            // A default alone, `[default: 1]`, explains nothing.
            let below = next.starts_with("          ") && !next.trim_start().starts_with('[');
            assert!(beside || below, "{command}: {}", lines[at]);
        }
    });
}

/// Whether a line is `  -c, --connections <N>` or `      --json`, as clap prints them, and not
/// prose about flags.
fn is_flag(line: &str) -> bool {
    let spec = line.trim_start().split("  ").next().unwrap_or_default();
    let of_a_flag = |word: &str| word.starts_with(['-', '<', '[']) || word.ends_with(['>', ']']);
    line.starts_with("  ") && spec.starts_with('-') && spec.split(' ').all(of_a_flag)
}

#[test]
fn no_line_is_wider_than_a_hundred_columns_or_shows_how_it_was_written() {
    for form in ["-h", "--help"] {
        each_page(form, |command, page| {
            for line in page.lines() {
                let columns = line.chars().count();
                assert!(columns <= WIDEST_LINE_COLUMNS, "{command} {form}: {line}");
                let is_code = line.contains("///");
                assert!(!is_code, "{command} {form} shows its source: {line}");
            }
        });
    }
}

#[test]
fn the_short_help_fits_a_screen_and_the_long_one_teaches() {
    each_page("-h", |command, page| {
        let lines = page.lines().count();
        assert!(
            lines <= LONGEST_SHORT_PAGE_LINES,
            "{command}: {lines} lines\n{page}"
        );
    });
    each_page("--help", |command, page| {
        // `study` is only a place for its commands.
        let teaches = page.contains("\nExample") || command == "study";
        assert!(teaches, "{command}: no example in\n{page}");
    });
}

#[test]
fn every_exit_code_is_explained() {
    let page = answer(&["--help"]);
    let (_, codes) = page.split_once("Exit codes:").unwrap();
    for code in ["\n  0 ", "\n  1 ", "\n  2 ", "\n  3 ", "\n  4 "] {
        assert!(codes.contains(code), "{code:?} in {codes}");
    }
    assert_says(codes, "for `plan network`, no machine carries");
}

#[test]
fn a_typing_error_gets_a_suggestion() {
    for (words, suggestion) in [
        (&["laod"][..], "'load'"),
        (&["load", "--thraeds", "2"], "'--threads'"),
        (&["study", "reprot"], "'report'"),
    ] {
        let error = refusal_of(&mut linerate(words));
        assert_says(&error, suggestion);
    }
}
