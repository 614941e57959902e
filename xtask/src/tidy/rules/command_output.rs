//! Output that a document quotes is what the command prints.

use crate::tidy::Rule;
use crate::tidy::markdown::{self, Fence};
use crate::tidy::tree::{Tree, Violation};

/// Commands that print the same wherever they run, by how they begin.
const STEADY: [&str; 5] = [
    "linerate study list",
    "linerate study show",
    "linerate help",
    "linerate --version",
    "linerate --help",
];

/// In a document, lines that stand for any number of lines.
const GAPS: [&str; 2] = ["...", "…"];

pub(super) const RULE: Rule = Rule {
    name: "document-output",
    says: "Output in a `console` block is what its command prints; `console measured` may differ.",
    check,
};

/// A command of a document with the output that is quoted below it.
pub(in crate::tidy) struct Session<'a> {
    line: usize,
    pub(in crate::tidy) command: &'a str,
    output: Vec<&'a str>,
}

fn check(tree: &Tree) -> Vec<Violation> {
    let documents = tree.documents();
    documents
        .flat_map(|(path, text)| {
            let sessions = sessions(text).into_iter();
            sessions.filter_map(move |session| {
                let (what, advice) = wrong(tree, &session)?;
                Some(Violation::new(path, session.line, what, advice))
            })
        })
        .collect()
}

fn wrong(tree: &Tree, session: &Session<'_>) -> Option<(String, &'static str)> {
    let command = session.command;
    if !is_steady(command) {
        let advice = "mark the block `console measured`";
        return Some((
            format!("`{command}` prints something else each time"),
            advice,
        ));
    }
    let printed = tree.outputs.get(command).map_or("", String::as_str);
    let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
    let advice = "paste what it prints; a line of `...` stands for any lines";
    (!matches(&session.output, &printed)).then(|| {
        let difference = first_difference(&session.output, &printed);
        (
            format!("`{command}` prints something else: {difference}"),
            advice,
        )
    })
}

/// The first line that only one of the two has.
fn first_difference(quoted: &[&str], printed: &[&str]) -> String {
    let only_in = |lines: &[&str], others: &[&str]| {
        let only = lines.iter().find(|line| !others.contains(line));
        only.filter(|line| !GAPS.contains(line))
            .map(ToString::to_string)
    };
    match (only_in(quoted, printed), only_in(printed, quoted)) {
        (Some(stale), Some(fresh)) => format!("`{stale}` is not printed, `{fresh}` is"),
        (Some(stale), None) => format!("`{stale}` is not printed"),
        (None, Some(fresh)) => format!("`{fresh}` is printed too"),
        (None, None) => "its lines stand otherwise".to_owned(),
    }
}

/// The sessions whose output must be true, of all `console` blocks of a document.
pub(in crate::tidy) fn sessions(text: &str) -> Vec<Session<'_>> {
    let blocks = markdown::fences(text).into_iter();
    blocks
        .filter(|fence| fence.kind == "console")
        .flat_map(|fence| of_block(&fence))
        .collect()
}

/// Whether a command may be run to see what it prints.
pub(in crate::tidy) fn is_steady(command: &str) -> bool {
    let has_end = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    let is_plain = !command.contains(['|', '>', ';', '&', '`', '$']);
    is_plain
        && STEADY
            .iter()
            .any(|steady| command.strip_prefix(steady).is_some_and(has_end))
}

fn of_block<'a>(fence: &Fence<'a>) -> Vec<Session<'a>> {
    let mut sessions: Vec<Session<'a>> = Vec::new();
    for quote in &fence.lines {
        match (quote.text.strip_prefix("$ "), sessions.last_mut()) {
            (Some(command), _) => sessions.push(Session {
                line: quote.line,
                command: command.trim_end(),
                output: Vec::new(),
            }),
            (None, Some(session)) => session.output.push(quote.text.trim_end()),
            (None, None) => {}
        }
    }
    sessions
}

/// Line by line; `...` in the document stands for any number of lines.
fn matches(quoted: &[&str], printed: &[&str]) -> bool {
    match (quoted, printed) {
        ([], rest) => rest.is_empty(),
        ([gap, more @ ..], _) if GAPS.contains(gap) => {
            (0..=printed.len()).any(|from| matches(more, &printed[from..]))
        }
        ([line, more @ ..], [first, rest @ ..]) => line == first && matches(more, rest),
        (_, []) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said_of;

    fn said(kind: &str, block: &str) -> Vec<String> {
        let text = format!("```{kind}\n{block}\n```\n");
        let mut tree = Tree::of([("docs/a.md", text.as_str())]).unwrap();
        let output = (
            "linerate study list".to_owned(),
            "a  one\nb  two\nc  three\n".to_owned(),
        );
        tree.outputs = [output].into();
        said_of(&RULE, &tree)
    }

    #[test]
    fn output_as_it_is_printed_is_well_whole_or_with_lines_left_out() {
        assert!(said("console", "$ linerate study list\na  one\nb  two\nc  three").is_empty());
        assert!(said("console", "$ linerate study list\n...\nc  three").is_empty());
    }

    #[test]
    fn output_that_is_no_longer_printed_is_named() {
        let said = said(
            "console",
            "$ linerate study list\na  one\nb  zwei\nc  three",
        );
        assert!(
            said[0].starts_with(
                "docs/a.md:2: `linerate study list` prints something else: `b  zwei` is not \
                 printed, `b  two` is"
            ),
            "{said:?}"
        );
    }

    #[test]
    fn measured_output_is_left_alone_and_must_be_marked() {
        let block = "$ linerate load http://127.0.0.1/\n1 request/s";
        assert!(said("console measured", block).is_empty());
        assert!(said("console", block)[0].contains("mark the block `console measured`"));
        assert!(!is_steady("linerate study list | tee a") && !is_steady("linerate study listen"));
    }
}
