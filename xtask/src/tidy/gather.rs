//! Reads the repository in: files, what cargo knows of crates, what the program says of itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::rules::sessions;
use super::tree::{Commit, Member, Tree};
use crate::target;

/// How far back commits are looked at.
const COMMITS: &str = "100";

/// Files and crates: what needs nothing built.
pub(super) fn house() -> anyhow::Result<Tree> {
    let top = target::workspace();
    let mut tree = Tree::default();
    read_folder(&top, &top, &mut tree)?;
    read_metadata(&mut tree)?;
    Ok(tree)
}

/// Everything that the rules look at. Builds the program, to ask it for its commands.
pub(super) fn tree() -> anyhow::Result<Tree> {
    let mut tree = house()?;
    let program = build()?;
    read_helps(&program, "", &mut tree.helps)?;
    crate::USAGE.clone_into(&mut tree.xtask_help);
    tree.outputs = outputs(&program, &tree);
    tree.commits = commits(&target::workspace());
    Ok(tree)
}

fn read_folder(top: &Path, folder: &Path, tree: &mut Tree) -> anyhow::Result<()> {
    let shown = folder.display();
    let ignored = ignored(folder);
    for entry in std::fs::read_dir(folder).with_context(|| format!("listing {shown}"))? {
        let path = entry?.path();
        if path
            .file_name()
            .is_some_and(|name| ignored.iter().any(|other| **other == *name))
        {
            continue;
        }
        if path.is_dir() {
            read_folder(top, &path, tree)?;
            continue;
        }
        let bytes = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let name = path.strip_prefix(top)?.to_string_lossy().into_owned();
        tree.add_bytes(&name, bytes)?;
    }
    Ok(())
}

/// Git's own files, and the names that a folder's `.gitignore` gives.
fn ignored(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(".gitignore")).unwrap_or_default();
    let names = text.lines().map(|line| line.trim().trim_matches('/'));
    names.chain([".git"]).map(str::to_owned).collect()
}

fn read_metadata(tree: &mut Tree) -> anyhow::Result<()> {
    let platform = platform();
    let arguments = [
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        &platform,
    ];
    let text = output(&mut target::cargo(&arguments))?;
    let metadata: Value = serde_json::from_str(&text).context("what cargo metadata printed")?;
    let packages = list(&metadata["packages"]);
    tree.linux_packages = built(&["--workspace", "--edges", "normal,build,dev"])?;
    let members: BTreeSet<&str> = texts(&metadata["workspace_members"]).collect();
    let ours = packages
        .iter()
        .filter(|package| members.contains(text_of(&package["id"])));
    tree.members = ours.map(member).collect::<anyhow::Result<_>>()?;
    Ok(())
}

fn member(package: &Value) -> anyhow::Result<Member> {
    let dependencies = list(&package["dependencies"]).iter();
    let ours = dependencies.filter(|used| used["path"].is_string() && used["kind"] != "dev");
    let name = text_of(&package["name"]);
    // Itself is left out, and so are the packages of its tests.
    let packages = built(&["--package", name, "--edges", "normal,build"])? - 1;
    Ok(Member {
        name: name.to_owned(),
        uses: ours.map(|used| text_of(&used["name"]).to_owned()).collect(),
        packages,
    })
}

/// How many packages cargo builds for Linux of what these arguments select. The lock file and
/// `cargo metadata` hold more: also what a feature would bring that nobody asks for.
fn built(selected: &[&str]) -> anyhow::Result<usize> {
    let platform = platform();
    let tree = [
        "tree", "--locked", "--prefix", "none", "--target", &platform,
    ];
    let text = output(&mut target::cargo(&[&tree[..], selected].concat()))?;
    Ok(different(&text))
}

/// Packages in what cargo lists: `NAME vVERSION`, and more where one is ours or was listed before.
fn different(listed: &str) -> usize {
    let packages = listed.lines().filter(|line| !line.is_empty());
    let names = packages.map(|line| line.split(' ').take(2).collect::<Vec<_>>());
    names.collect::<BTreeSet<_>>().len()
}

fn platform() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

/// The build that the tests use, so that it is made once.
fn build() -> anyhow::Result<PathBuf> {
    let profile = ["build", "--quiet", "--profile", "checks"];
    let which = ["--package", "linerate"];
    output(&mut target::cargo(&[&profile[..], &which].concat()))?;
    Ok(target::directory().join("checks/linerate"))
}

/// The help of a command and of all below it, the hidden ones left out.
fn read_helps(
    program: &Path,
    command: &str,
    helps: &mut BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let words = command.split_whitespace().chain(["--help"]);
    let help = output(Command::new(program).args(words))?;
    for inner in subcommands(&help) {
        let longer = format!("{command} {inner}");
        read_helps(program, longer.trim_start(), helps)?;
    }
    helps.insert(command.to_owned(), help);
    Ok(())
}

/// The names in the paragraph `Commands:`.
fn subcommands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.trim().is_empty());
    let names = lines.filter_map(|line| {
        let name = line.strip_prefix("  ")?;
        (!name.starts_with(' ')).then(|| name.split(' ').next().unwrap_or_default())
    });
    names.filter(|name| *name != "help").collect()
}

/// What the commands print whose output documents quote; of one that fails, how it does, so that
/// the other rules are still heard.
fn outputs(program: &Path, tree: &Tree) -> BTreeMap<String, String> {
    let sessions = tree.documents().flat_map(|(_, text)| sessions(text));
    let commands: BTreeSet<&str> = sessions.map(|session| session.command).collect();
    let steady = commands
        .into_iter()
        .filter(|command| super::rules::is_steady(command));
    steady
        .map(|command| {
            let words = command.split_whitespace().skip(1);
            let printed = output(Command::new(program).args(words));
            let printed = printed.unwrap_or_else(|error| format!("{error:#}"));
            (command.to_owned(), printed)
        })
        .collect()
}

fn commits(top: &Path) -> Vec<Commit> {
    let arguments = ["log", "--no-merges", "-n", COMMITS, "--format=%h\t%s"];
    let log = output(Command::new("git").args(arguments).current_dir(top)).unwrap_or_default();
    let lines = log.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(hash, subject)| Commit {
            hash: hash.to_owned(),
            subject: subject.to_owned(),
        })
        .collect()
}

/// Standard output of a program that must do well.
fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("{name} could not be started"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        said.trim()
    );
    String::from_utf8(output.stdout).with_context(|| format!("what {name} printed"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    list(value).iter().map(text_of)
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_a_help_text_are_its_paragraph_of_commands() {
        let help = "Usage: x\n\nCommands:\n  load   Put load\n         on it\n  help   This\n\nOptions:\n  -a\n";
        assert_eq!(subcommands(help), ["load"]);
    }

    #[test]
    fn a_package_counts_once_however_often_it_is_listed_and_each_version_by_itself() {
        let listed = "a v1.0.0 (/here)\nb v1.0.0\nc v2.0.0 (proc-macro)\n\na v1.0.0 (/here)\nb v1.0.0 (*)\nb v1.1.0\n";
        assert_eq!(different(listed), 4);
    }
}
