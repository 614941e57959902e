//! Functions and files stay short; the few that do not are on a list that only shrinks.

use crate::tidy::Rule;
use crate::tidy::rust::{self, is_code};
use crate::tidy::tree::{Source, Tree, Violation};

const LONGEST_FUNCTION_LINES: usize = 70;
const LONGEST_FILE_LINES: usize = 400;
/// Lines of `PATH NAME LINES REASON`; NAME is that of a function, or `-` for the file itself.
const LIST: &str = "xtask/src/tidy/long.txt";

pub(super) const FUNCTIONS: Rule = Rule {
    name: "function-length",
    says: "A function has at most 70 lines, or is on a list that only shrinks; one that is a single \
           match counts as long as its longest arm.",
    check: |tree| ratchet(tree, LONGEST_FUNCTION_LINES, &functions(tree), is_function),
};

pub(super) const FILES: Rule = Rule {
    name: "file-length",
    says: "A file has at most 400 lines of code without its tests, or is on a list that only shrinks.",
    check: |tree| ratchet(tree, LONGEST_FILE_LINES, &files(tree), is_file),
};

fn is_file(name: &str) -> bool {
    name == "-"
}

fn is_function(name: &str) -> bool {
    !is_file(name)
}

/// A function or a file and its length.
struct Measured<'a> {
    path: &'a str,
    line: usize,
    name: String,
    lines: usize,
}

/// An entry of the list.
struct Allowed<'a> {
    at: usize,
    path: &'a str,
    name: &'a str,
    lines: usize,
}

fn ratchet(
    tree: &Tree,
    longest: usize,
    measured: &[Measured<'_>],
    concerns: fn(&str) -> bool,
) -> Vec<Violation> {
    let allowed: Vec<Allowed<'_>> = allowed(tree).filter(|entry| concerns(entry.name)).collect();
    let same =
        |entry: &Allowed<'_>, it: &Measured<'_>| entry.path == it.path && entry.name == it.name;
    let too_long = measured.iter().filter_map(|it| {
        let entry = allowed.iter().find(|entry| same(entry, it));
        let most = entry.map_or(longest, |entry| entry.lines);
        (it.lines > most).then(|| too_long(it, most))
    });
    let loose = allowed.iter().filter_map(|entry| {
        let now = measured.iter().find(|it| same(entry, it));
        let now = now.map_or(0, |it| it.lines);
        (now < entry.lines).then(|| loose(entry, now, longest))
    });
    too_long.chain(loose).collect()
}

fn too_long(it: &Measured<'_>, most: usize) -> Violation {
    let what = format!(
        "{} has {} lines, and {most} is its limit",
        named(it),
        it.lines
    );
    let advice = "take it apart by what its parts are about";
    Violation::new(it.path, it.line, what, advice)
}

fn loose(entry: &Allowed<'_>, now: usize, longest: usize) -> Violation {
    let what = format!("{} {} has {now} lines now", entry.path, entry.name);
    let advice = format!("write {now} here, or take the line out at {longest} or less");
    Violation::new(LIST, entry.at, what, advice)
}

fn named(it: &Measured<'_>) -> String {
    match it.name.as_str() {
        "-" => "the file".to_owned(),
        name => format!("`{name}`"),
    }
}

fn functions(tree: &Tree) -> Vec<Measured<'_>> {
    let mut measured = Vec::new();
    for (path, source) in &tree.sources {
        let functions = rust::functions(source).into_iter();
        measured.extend(functions.map(|function| Measured {
            path,
            line: function.line,
            name: function.name,
            lines: function.lines,
        }));
    }
    measured
}

fn files(tree: &Tree) -> Vec<Measured<'_>> {
    let files = tree.sources.iter().map(|(path, source)| Measured {
        path,
        line: 0,
        name: "-".to_owned(),
        lines: code_lines(source),
    });
    files.collect()
}

/// Lines of code outside `#[cfg(test)]` modules.
pub(in crate::tidy) fn code_lines(source: &Source) -> usize {
    let tests = rust::test_lines(source);
    let is_tested = |number: &usize| tests.iter().any(|lines| lines.contains(number));
    let lines = (1..).zip(source.text.lines());
    lines
        .filter(|(number, line)| is_code(line) && !is_tested(number))
        .count()
}

fn allowed(tree: &Tree) -> impl Iterator<Item = Allowed<'_>> {
    let text = tree.texts.get(LIST).map_or("", String::as_str);
    (1..).zip(text.lines()).filter_map(|(at, line)| {
        let mut words = line.split_whitespace();
        let (path, name, lines) = (words.next()?, words.next()?, words.next()?);
        // Without a reason it is no entry.
        words.next()?;
        Some(Allowed {
            at,
            path,
            name,
            lines: lines.parse().ok()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    /// A function of so many lines.
    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_longer_than_seventy_lines_is_named_unless_it_is_on_the_list() {
        assert!(said(&FUNCTIONS, &[("a/src/a.rs", &function(70))]).is_empty());
        let long = function(71);
        let said_without = said(&FUNCTIONS, &[("a/src/a.rs", &long)]);
        assert!(
            said_without[0].starts_with("a/src/a.rs:1: `f` has 71 lines"),
            "{said_without:?}"
        );
        let list = "a/src/a.rs f 71 one table\n";
        assert!(said(&FUNCTIONS, &[("a/src/a.rs", &long), (LIST, list)]).is_empty());
        let no_reason = "a/src/a.rs f 71\n";
        assert_eq!(
            said(&FUNCTIONS, &[("a/src/a.rs", &long), (LIST, no_reason)]).len(),
            1
        );
    }

    #[test]
    fn a_function_that_is_one_match_is_as_long_as_its_longest_arm() {
        let table = format!(
            "fn f() {{\n match x {{\n{}}}\n}}\n",
            "    1 => 2,\n".repeat(80)
        );
        assert!(said(&FUNCTIONS, &[("a/src/a.rs", &table)]).is_empty());
        let more = table.replacen("match", "g();\n match", 1);
        assert_eq!(said(&FUNCTIONS, &[("a/src/a.rs", &more)]).len(), 1);
    }

    #[test]
    fn what_is_on_the_list_may_not_grow_and_what_has_shrunk_must_be_tightened() {
        let list = "a/src/a.rs f 75 one table\n";
        let grown = said(&FUNCTIONS, &[("a/src/a.rs", &function(76)), (LIST, list)]);
        assert!(
            grown[0].contains("76 lines, and 75 is its limit"),
            "{grown:?}"
        );
        let shrunk = said(&FUNCTIONS, &[("a/src/a.rs", &function(72)), (LIST, list)]);
        assert!(
            shrunk[0].contains("has 72 lines now; write 72 here"),
            "{shrunk:?}"
        );
    }

    #[test]
    fn a_file_counts_its_code_and_neither_comments_nor_tests() {
        let code = "fn f() {}\n".repeat(400);
        let more = "// Why.\n\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
        assert!(said(&FILES, &[("a/src/a.rs", &format!("{code}{more}"))]).is_empty());
        let said = said(
            &FILES,
            &[("a/src/a.rs", &format!("{code}fn h() {{}}\n{more}"))],
        );
        assert!(
            said[0].starts_with("a/src/a.rs: the file has 401 lines"),
            "{said:?}"
        );
    }
}
