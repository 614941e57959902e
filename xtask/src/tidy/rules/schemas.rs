//! Every JSON shape is written down, and what is written down is held against real output.

use crate::tidy::Rule;
use crate::tidy::tree::{Tree, Violation};

const FOLDER: &str = "docs/schema/";
const INDEX: &str = "docs/schema/README.md";
/// Pieces that the others share; nothing is of their shape.
const SHARED: [&str; 2] = ["common.json", "command-parts.json"];

pub(super) const RULE: Rule = Rule {
    name: "schemas",
    says: "Each command with `--json` has its schema in docs/schema, and a test holds each schema.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = commands_without(tree);
    for file in tree.below(FOLDER, |file| file.strip_suffix(".json").map(|_| file)) {
        let path = format!("{FOLDER}{file}");
        if !row_of(tree, file) {
            let what = format!("it is not in the table of {INDEX}");
            violations.push(Violation::new(
                &path,
                0,
                what,
                "say there what has this shape",
            ));
        }
        if !SHARED.contains(&file) && !is_held(tree, file.trim_end_matches(".json")) {
            let what = "no test holds real output against it";
            let advice = "call `schema::holds` with its name in linerate/tests";
            violations.push(Violation::new(&path, 0, what, advice));
        }
    }
    violations
}

fn commands_without(tree: &Tree) -> Vec<Violation> {
    let with_json = tree
        .helps
        .iter()
        .filter(|(_, help)| help.contains("--json"));
    let without = with_json.filter(|(command, _)| !is_in_index(tree, command));
    without
        .map(|(command, _)| {
            let what = format!("`linerate {command}` has `--json` and no schema");
            Violation::new(
                INDEX,
                0,
                what,
                "write its schema, and its row in this table",
            )
        })
        .collect()
}

/// Rows of the table of schemas.
fn rows(tree: &Tree) -> impl Iterator<Item = &str> {
    let text = tree.texts.get(INDEX).map_or("", String::as_str);
    text.lines().filter(|line| line.starts_with("| `"))
}

fn row_of(tree: &Tree, file: &str) -> bool {
    rows(tree).any(|row| row.starts_with(&format!("| `{file}` ")))
}

/// As `study run`, or as a command line such as `linerate load --json`.
fn is_in_index(tree: &Tree, command: &str) -> bool {
    let line = format!("linerate {command} --json").replace("  ", " ");
    rows(tree).any(|row| {
        row.split('`')
            .any(|quoted| quoted == command && !command.is_empty() || quoted == line)
    })
}

/// Whether a test names it as the shape of something.
fn is_held(tree: &Tree, name: &str) -> bool {
    let quoted = format!("\"{name}\"");
    let mut tests = tree
        .sources
        .iter()
        .filter(|(path, _)| path.starts_with("linerate/tests/"));
    tests.any(|(_, source)| {
        let calls = source.text.split("holds(").skip(1);
        calls
            .map(str::trim_start)
            .any(|arguments| arguments.starts_with(&quoted))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said_of;

    const TABLE: &str = "| file | the shape of |\n|---|---|\n\
                         | `load.json` | `linerate load --json`; `study run` with `--json` |\n";

    fn tree(index: &str, test: &str) -> Tree {
        let files = [
            (INDEX, index),
            ("docs/schema/load.json", "{}"),
            ("linerate/tests/s.rs", test),
        ];
        let mut tree = Tree::of(files).unwrap();
        let help = |command: &str, text: &str| (command.to_owned(), text.to_owned());
        tree.helps = [
            help("load", "  --json"),
            help("study run", "  --json"),
            help("serve", ""),
        ]
        .into();
        tree
    }

    #[test]
    fn a_command_in_the_table_whose_schema_a_test_holds_is_well() {
        let tree = tree(TABLE, "fn a() { schema::holds(\n  \"load\", &x) }");
        assert_eq!(said_of(&RULE, &tree), Vec::<String>::new());
    }

    #[test]
    fn a_command_without_schema_and_a_schema_without_row_or_test_are_named() {
        let said = said_of(&RULE, &tree("", "fn a() { other(\"load\") }"));
        assert_eq!(said.len(), 4, "{said:?}");
        assert!(said[0].contains("`linerate load` has `--json` and no schema"));
        assert!(said[2].starts_with("docs/schema/load.json: it is not in the table"));
        assert!(said[3].contains("no test holds real output"));
    }
}
