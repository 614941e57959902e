//! The studies that come with the program, by what they run.

use crate::common::{Folder, answer, linerate};

/// Names of the built-in studies that run commands, or of those that load servers.
pub(crate) fn studies(folder: &Folder, of_commands: bool) -> Vec<String> {
    let runs_commands = |name: &str| {
        let shown = answer(&mut linerate(folder, &["study", "show", name, "--json"]));
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        shown["study"]["workload"]["kind"] == "command"
    };
    let list = answer(&mut linerate(folder, &["study", "list"]));
    let names = list
        .lines()
        .map(|line| line.split_whitespace().next().unwrap());
    let names: Vec<String> = names
        .filter(|name| runs_commands(name) == of_commands)
        .map(str::to_owned)
        .collect();
    assert!(!names.is_empty(), "{list}");
    names
}
