//! A command line in a document works as it stands: command and flags exist.

use crate::tidy::Rule;
use crate::tidy::markdown;
use crate::tidy::tree::{Helps, Tree, Violation};

pub(super) const RULE: Rule = Rule {
    name: "document-commands",
    says: "Every `linerate` and `cargo xtask` command and flag in a document exists.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.documents() {
        for quote in markdown::inline_code(text).chain(markdown::blocks(text)) {
            let what = wrong(tree, quote.text);
            let advice = "`--help` shows what there is";
            violations.extend(what.map(|what| Violation::new(path, quote.line, what, advice)));
        }
    }
    violations
}

/// What does not exist of a line; `None` also for lines that are none of our commands.
fn wrong(tree: &Tree, line: &str) -> Option<String> {
    let line = line
        .trim()
        .trim_start_matches("$ ")
        .trim_start_matches("sudo ");
    let mut lines = line.split([';', '|', '>', '#', '&']);
    let words: Vec<&str> = lines.next()?.split_whitespace().collect();
    match words.as_slice() {
        ["linerate", rest @ ..] | ["cargo", "run", "--release", "--", rest @ ..] => {
            wrong_in(&tree.helps, "linerate", rest)
        }
        ["cargo", "xtask", rest @ ..] => wrong_in(&tree.tasks, "cargo xtask", rest),
        _ => None,
    }
}

fn wrong_in(helps: &Helps, program: &str, words: &[&str]) -> Option<String> {
    let words = words.strip_prefix(&["help"]).unwrap_or(words);
    // The longest command that they begin with.
    let mut lengths = (0..=words.len()).rev();
    let length = lengths.find(|length| helps.contains_key(&words[..*length].join(" ")))?;
    let (command, rest) = (words[..length].join(" "), &words[length..]);
    let is_above = |other: &String| other.len() > command.len() && other.starts_with(&command);
    let next = rest.first().filter(|word| is_lower_case(word));
    if let (Some(word), true) = (next, helps.keys().any(is_above)) {
        let all = format!("{program} {command} {word}").replace("  ", " ");
        return Some(format!("there is no command `{all}`"));
    }
    let mut flags = rest.iter().map(|word| flag_of(word));
    let flag = flags.find(|flag| !flag.is_empty() && !knows(&helps[&command], flag))?;
    Some(format!("`{program} {command}` has no flag `{flag}`"))
}

/// Placeholders are in capitals, URLs have colons.
fn is_lower_case(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
}

/// The flag of a word such as `--rate=5`; empty for other words.
fn flag_of(word: &str) -> &str {
    let word = word.trim_matches(['[', ']', ',', '`', '.']);
    let flag = word.split('=').next().unwrap_or_default();
    let is_flag = flag.starts_with("--") && flag.len() > 2
        || flag.starts_with('-') && flag.len() == 2 && flag != "--";
    if is_flag { flag } else { "" }
}

fn knows(help: &str, flag: &str) -> bool {
    let mut words = help.split(|c: char| !c.is_alphanumeric() && c != '-');
    words.any(|word| word == flag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said_of;

    fn said(text: &str) -> Vec<String> {
        let mut tree = Tree::of([("README.md", text)]).unwrap();
        let help = |command: &str, text: &str| (command.to_owned(), text.to_owned());
        tree.helps = [
            help("", "Options:\n      --yes  Load it\n"),
            help(
                "load",
                "Options:\n  -c, --connections <N>\n          Held open\n",
            ),
            help("study", ""),
            help("study run", "      --rounds <N>\n"),
        ]
        .into();
        tree.tasks = [help("", ""), help("tidy", "tidy [--rules]")].into();
        said_of(&RULE, &tree)
    }

    #[test]
    fn commands_and_flags_that_exist_are_well_in_every_way_of_writing_them() {
        let text = "`linerate`, `linerate --yes`, `linerate load URL -c 4 | jq .a --b`, `linerate help load`\n\n\
                    \x20   cargo run --release -- load http://127.0.0.1/ --connections=4\n    cargo xtask tidy --rules\n\n\
                    ```console\n$ sudo linerate study run NAME --rounds 4\n```\n`cargo build --release`\n";
        assert_eq!(said(text), Vec::<String>::new());
    }

    #[test]
    fn commands_and_flags_that_do_not_exist_are_named_where_they_stand() {
        let text = "`linerate lod URL`\n`linerate load URL --held`\n`linerate study show x`\n\
                    \n    cargo xtask tidy --all\n    cargo xtask polish\n";
        let said = said(text);
        let wanted = [
            "README.md:1: there is no command `linerate lod`",
            "README.md:2: `linerate load` has no flag `--held`",
            "README.md:3: there is no command `linerate study show`",
            "README.md:5: `cargo xtask tidy` has no flag `--all`",
            "README.md:6: there is no command `cargo xtask polish`",
        ];
        assert_eq!(said.len(), wanted.len(), "{said:?}");
        for (said, wanted) in said.iter().zip(wanted) {
            assert!(said.starts_with(wanted), "{said}");
        }
    }
}
