//! Command lines in the documents work as they stand: each command and each of its flags exists.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{answer, as_str, commands};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// Files and folders that describe the past, and those that are not ours.
const LEFT_OUT: [&str; 7] = [
    "CHANGELOG.md",
    "results",
    "target",
    "dist",
    "linerate-runs",
    ".git",
    "node_modules",
];

/// Help pages of commands, by their words; the program itself has an empty key, others `load` or
/// `study run`.
type Helps = BTreeMap<String, String>;

fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_document = |path: &PathBuf| !LEFT_OUT.iter().any(|name| path.ends_with(name));
    paths
        .filter(is_document)
        .flat_map(|path| match path.is_dir() && !path.is_symlink() {
            true => documents(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

/// The help pages of the program, without those of hidden commands.
fn program_helps() -> Helps {
    let help = |words: Vec<String>| {
        let page = answer(&[&as_str(&words)[..], &["--help"]].concat());
        (words.join(" "), page)
    };
    commands().into_iter().map(help).collect()
}

/// The help of the commands of `cargo xtask`, from its usage: the line of each and the lines below
/// it.
fn task_helps() -> Helps {
    let source = std::fs::read_to_string(Path::new(ROOT).join("xtask/src/main.rs")).unwrap();
    let (_, usage) = source.split_once("const USAGE: &str = \"").unwrap();
    let (mut tasks, mut name) = (Helps::from([(String::new(), String::new())]), "");
    for line in usage.split("\";").next().unwrap().lines() {
        let begins = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '));
        name = begins.map_or(name, |rest| rest.split(' ').next().unwrap());
        *tasks.entry(name.to_owned()).or_default() += line;
    }
    tasks
}

/// Possible commands in a text: all that stands between backticks, and every whole line, for code
/// blocks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted.chain(text.lines())
}

/// The command or flag in a line that does not exist; `None` also for lines that are none of our
/// commands.
fn wrong(program: &Helps, tasks: &Helps, line: &str) -> Option<String> {
    let line = line
        .trim()
        .trim_start_matches("$ ")
        .trim_start_matches("sudo ");
    let mut lines = line.split([';', '|', '>', '#', '&']);
    let words: Vec<&str> = lines.next()?.split_whitespace().collect();
    match words.as_slice() {
        ["linerate", rest @ ..] | ["cargo", "run", "--release", "--", rest @ ..] => {
            wrong_in(program, rest)
        }
        ["cargo", "xtask", rest @ ..] => wrong_in(tasks, rest),
        _ => None,
    }
}

fn wrong_in(helps: &Helps, words: &[&str]) -> Option<String> {
    let words = words.strip_prefix(&["help"]).unwrap_or(words);
    // The longest command that the words begin with.
    let mut lengths = (0..=words.len()).rev();
    let length = lengths.find(|length| helps.contains_key(&words[..*length].join(" ")))?;
    let (command, rest) = (words[..length].join(" "), &words[length..]);
    let is_above = |other: &String| other.len() > command.len() && other.starts_with(&command);
    // Placeholders are in capitals, URLs have colons.
    let is_lower = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let next = rest
        .first()
        .filter(|word| is_lower(word) && !word.starts_with('-'));
    if let (Some(word), true) = (next, helps.keys().any(is_above)) {
        return Some(format!("there is no command `{command} {word}`"));
    }
    let mut flags = rest.iter().map(|word| flag_of(word));
    let flag = flags.find(|flag| !flag.is_empty() && !knows(&helps[&command], flag))?;
    Some(format!("`{command}` has no flag `{flag}`"))
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

#[test]
fn every_command_and_flag_in_a_document_exists() {
    let (program, tasks) = (program_helps(), task_helps());
    let mut found = Vec::new();
    for path in documents(Path::new(ROOT)) {
        let text = std::fs::read_to_string(&path).unwrap();
        let wrong = code(&text).filter_map(|line| wrong(&program, &tasks, line));
        found.extend(wrong.map(|what| format!("{}: {what}", path.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_does_not_exist_is_told_from_what_does() {
    let (program, tasks) = (program_helps(), task_helps());
    for line in [
        "linerate load URL -c 4 | jq .a --b",
        "linerate help load",
        "cargo run --release -- load http://127.0.0.1/ --connections=4",
        "$ sudo linerate study run NAME --rounds 4",
        "cargo xtask tidy --rules",
        "cargo build --release",
    ] {
        assert_eq!(wrong(&program, &tasks, line), None, "{line}");
    }
    for (line, what) in [
        ("linerate lod URL", "there is no command ` lod`"),
        ("linerate load URL --held", "`load` has no flag `--held`"),
        (
            "linerate study polish x",
            "there is no command `study polish`",
        ),
        ("cargo xtask tidy --all", "`tidy` has no flag `--all`"),
        ("cargo xtask polish", "there is no command ` polish`"),
    ] {
        assert_eq!(wrong(&program, &tasks, line).as_deref(), Some(what));
    }
}
