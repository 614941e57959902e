//! A command line in a document works as it stands: command and flags exist.

use crate::tidy::Rule;
use crate::tidy::markdown::{self, Quote};
use crate::tidy::tree::{Tree, Violation};

pub(super) const RULE: Rule = Rule {
    name: "document-commands",
    says: "Every `linerate` and `cargo xtask` command and flag in a document exists.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    if tree.helps.is_empty() {
        return Vec::new();
    }
    tree.documents()
        .flat_map(|(path, text)| {
            let lines = command_lines(text).into_iter();
            let wrong = lines.filter_map(|quote| Some((quote.line, wrong(tree, quote.text)?)));
            wrong.map(|(line, what)| {
                let advice = "`--help` shows what there is";
                Violation::new(path, line, what, advice)
            })
        })
        .collect()
}

/// Inline code and lines of blocks.
fn command_lines(text: &str) -> Vec<Quote<'_>> {
    let mut quotes = markdown::inline_code(text);
    quotes.extend(markdown::indented(text));
    quotes.extend(
        markdown::fences(text)
            .into_iter()
            .flat_map(|fence| fence.lines),
    );
    quotes
}

/// What does not exist of a line; `None` also for lines that are none of our commands.
fn wrong(tree: &Tree, line: &str) -> Option<String> {
    let line = line
        .trim()
        .trim_start_matches("$ ")
        .trim_start_matches("sudo ");
    let line = line
        .split([';', '|', '>', '#', '&'])
        .next()
        .unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["linerate", rest @ ..] => wrong_arguments(tree, rest),
        ["cargo", "run", "--release", "--", rest @ ..] => wrong_arguments(tree, rest),
        ["cargo", "xtask", command, rest @ ..] => wrong_task(&tree.xtask_help, command, rest),
        _ => None,
    }
}

fn wrong_arguments(tree: &Tree, words: &[&str]) -> Option<String> {
    let (mut command, mut rest) = (String::new(), words);
    while let [word, others @ ..] = rest {
        let longer = format!("{command} {word}").trim_start().to_owned();
        if *word == "help" {
            rest = others;
        } else if tree.helps.contains_key(&longer) {
            (command, rest) = (longer, others);
        } else {
            break;
        }
    }
    let has_commands = tree
        .helps
        .keys()
        .any(|other| other.starts_with(&command) && *other != command);
    if let Some(word) = rest
        .first()
        .filter(|word| has_commands && is_lower_case(word))
    {
        return Some(format!(
            "there is no command `linerate {}`",
            join(&command, word)
        ));
    }
    let help = tree.helps.get(&command)?;
    let flag = rest
        .iter()
        .map(|word| flag_of(word))
        .find(|flag| !flag.is_empty() && !knows(help, flag))?;
    Some(format!("`linerate {command}` has no flag `{flag}`"))
}

fn join(command: &str, word: &str) -> String {
    format!("{command} {word}").trim_start().to_owned()
}

/// Placeholders are in capitals, URLs have colons.
fn is_lower_case(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
}

/// The flag of a word such as `--rate=5`; empty for other words.
fn flag_of(word: &str) -> &str {
    let word = word.trim_matches(['[', ']', ',', '`', '.']);
    match word.split('=').next() {
        Some(flag) if flag.starts_with("--") && flag.len() > 2 => flag,
        Some(flag) if flag.len() == 2 && flag.starts_with('-') && flag != "--" => flag,
        _ => "",
    }
}

/// Whether a help text explains a flag.
fn knows(help: &str, flag: &str) -> bool {
    help.lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with('-'))
        .any(|line| {
            let words = line
                .split([' ', ',', '=', '[', '.'])
                .take_while(|word| !word.starts_with('<'));
            words.into_iter().any(|word| word == flag)
        })
}

fn wrong_task(help: &str, command: &str, rest: &[&str]) -> Option<String> {
    let is_it = |line: &&str| line.split_whitespace().next() == Some(command);
    let Some(line) = help.lines().find(is_it) else {
        return is_lower_case(command)
            .then(|| format!("there is no command `cargo xtask {command}`"));
    };
    let flag = rest
        .iter()
        .map(|word| flag_of(word))
        .find(|flag| !line.contains(flag))?;
    Some(format!("`cargo xtask {command}` has no flag `{flag}`"))
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
                "Options:\n  -c, --connections <N>\n          Held open, not --held\n",
            ),
            help("study", ""),
            help("study run", "      --rounds <N>\n"),
        ]
        .into();
        tree.xtask_help = "  test            everything\n  tidy [--numbers]  the rules".to_owned();
        said_of(&RULE, &tree)
    }

    #[test]
    fn commands_and_flags_that_exist_are_well_in_every_way_of_writing_them() {
        let text = "`linerate`, `linerate --yes`, `linerate load URL -c 4 | jq .a --b`, `linerate help load`\n\n\
                    \x20   cargo run --release -- load http://127.0.0.1/ --connections=4\n    cargo xtask tidy --numbers\n\n\
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
