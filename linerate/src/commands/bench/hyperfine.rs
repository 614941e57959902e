//! Flags that users know from hyperfine, in their meanings of its first generation (1.x) and its
//! second.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::ValueEnum;
use regex_lite::Regex;
use report::bench::exports::{Form, Generation, MetricChoice, choices, time_unit};

use super::Arguments;

/// The generation of hyperfine whose command line is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Dialect {
    #[value(name = "1")]
    First,
    #[default]
    #[value(name = "2")]
    Second,
}

/// Order of the commands in the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// As given
    #[default]
    Auto,
    Command,
    /// Fastest first
    MeanTime,
}

/// Flags for the files, and flags that are accepted because hyperfine has them.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct HyperfineFlags {
    /// Generation of hyperfine to follow where the two differ: 1 or 2
    #[arg(
        long,
        value_name = "1|2",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    hyperfine: Dialect,
    /// Write the runs as JSON that hyperfine's readers accept
    #[arg(long, value_name = "FILE")]
    pub(super) export_json: Option<PathBuf>,
    /// Write a summary as CSV
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) export_csv: Option<PathBuf>,
    /// Write a summary as a Markdown table
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) export_markdown: Option<PathBuf>,
    /// Write a summary as an AsciiDoc table
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) export_asciidoc: Option<PathBuf>,
    /// Write a summary as a table of Emacs's org-mode
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(super) export_orgmode: Option<PathBuf>,
    /// Metrics in the files, the first one in tables: `default`, `time`, `all`, or names as
    /// time_cpu:ms,…
    ///
    /// time_wall_clock, time_cpu, time_user, time_system in ns, us, ms, s, min or h; memory_peak_resident in B,
    /// kB, MB, GB, TB, KiB, MiB, GiB or TiB. The page and JSON have all that is measured.
    #[arg(long, value_name = "METRICS", value_parser = metrics, default_value = "default", hide_short_help = true)]
    metrics: Metrics,
    /// As in 1.x: unit of times in the files' tables
    #[arg(short = 'u', long, value_name = "UNIT", value_parser = unit, hide_short_help = true)]
    time_unit: Option<&'static str>,
    /// As in 1.x: order of the commands in the files
    #[arg(
        long,
        value_name = "ORDER",
        value_enum,
        default_value_t,
        hide_default_value = true,
        hide_short_help = true
    )]
    sort: Sort,
}

/// The metrics that `--metrics` names.
#[derive(Clone, Debug)]
struct Metrics(Vec<MetricChoice>);

fn metrics(text: &str) -> Result<Metrics, String> {
    choices(text).map(Metrics)
}

fn unit(text: &str) -> Result<&'static str, String> {
    time_unit(text).ok_or_else(|| format!("`{text}` is no unit of time such as millisecond or s"))
}

impl HyperfineFlags {
    /// The form of the files, for a comparison that began at `started_utc`.
    pub(super) fn form(&self, started_utc: &str) -> Form {
        Form {
            generation: match self.hyperfine {
                Dialect::First => Generation::First,
                Dialect::Second => Generation::Second,
            },
            metrics: self.metrics.0.clone(),
            time_unit: self.time_unit,
            by_mean: self.sort == Sort::MeanTime,
            started_utc: started_utc.to_owned(),
        }
    }
}

/// The shell that runs the commands, with its arguments; empty for none.
///
/// # Errors
/// A `--shell` that is no shell, or a command that needs one although none was asked for.
pub(super) fn shell(arguments: &Arguments) -> anyhow::Result<Vec<String>> {
    let sh = || vec!["sh".to_owned()];
    let named = arguments.shell.as_deref();
    match named {
        _ if arguments.no_shell => Ok(Vec::new()),
        Some("none") => Ok(Vec::new()),
        Some("default") => Ok(sh()),
        Some(line) => {
            let words = study::bench::words(line)?;
            ensure!(
                words.first().is_some_and(|program| !program.is_empty()),
                "--shell is empty; give a shell, or -N for none"
            );
            Ok(words)
        }
        None if arguments.default_shell => {
            refuse_two_meanings(&arguments.commands)?;
            Ok(sh())
        }
        None if arguments.hyperfine.hyperfine == Dialect::First => Ok(sh()),
        None => {
            let reference = arguments.reference.iter();
            reference
                .chain(&arguments.commands)
                .try_for_each(|line| wants_no_shell(line))?;
            Ok(Vec::new())
        }
    }
}

/// Refuses `-S bash 'COMMAND'`, as typed for 1.x: here it would measure bash.
fn refuse_two_meanings(commands: &[String]) -> anyhow::Result<()> {
    const SHELLS: [&str; 8] = [
        "sh", "bash", "dash", "zsh", "fish", "ksh", "none", "default",
    ];
    let first = commands.first().map_or("", String::as_str);
    let program = first.rsplit('/').next().unwrap_or_default();
    ensure!(
        commands.len() < 2 || !SHELLS.contains(&program),
        "-S takes no name here, so `{first}` would be measured; say --shell {first}, or --hyperfine 1 for the \
         old meaning of -S"
    );
    Ok(())
}

/// Refuses a line that only a shell understands.
fn wants_no_shell(line: &str) -> anyhow::Result<()> {
    let tokens = tokens(line);
    let is_variable = |name: &str| {
        let mut signs = name.chars();
        signs
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && signs.all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
    };
    let first = tokens.first().and_then(|word| word.split_once('='));
    if first.is_some_and(|(name, _)| is_variable(name)) {
        bail!("`{line}` sets a variable, which needs a shell: give -S, or --env for the variable")
    }
    match tokens.iter().find_map(|token| operator(token)) {
        Some(operator) => bail!(
            "`{line}` has `{operator}`, which needs a shell: give -S (hyperfine 1.x has one by default: \
             --hyperfine 1), or -N if it is an argument"
        ),
        None => Ok(()),
    }
}

/// The operator of a shell with which an unquoted word begins or ends.
fn operator(token: &str) -> Option<&'static str> {
    const BEGIN: [&str; 9] = ["&&", "&>", "||", "|", "2>", ">>", ">", "<", ";"];
    if token.contains(['\'', '"', '\\']) {
        return None;
    }
    let begins = BEGIN.into_iter().find(|sign| token.starts_with(sign));
    let ends = || token.ends_with(';').then_some(";");
    begins
        .or_else(ends)
        .or_else(|| (token == "&").then_some("&"))
}

/// Splits a line into words with their quotes and escapes, so that a quoted operator does not
/// count. An open quote reaches to the end.
fn tokens(line: &str) -> Vec<&str> {
    let word = Regex::new(r#"(?s:[^\s'"\\]|\\(?:.|$)|'[^']*(?:'|$)|"(?:\\.|[^"\\])*(?:"|\\?$))+"#);
    let word = word.expect("it is compiled in and a test uses it");
    word.find_iter(line).map(|found| found.as_str()).collect()
}

/// Turns a command line with the `-S NAME` of hyperfine 1.x into one with the flags used here.
pub(crate) fn as_typed(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let end = words.iter().position(|word| word == "--");
    let end = end.unwrap_or(words.len());
    let bench = words[..end].iter().position(|word| word == "bench");
    let first = |pair: &[OsString]| pair[0] == "--hyperfine" && pair[1] == "1";
    let is_first = words[..end].windows(2).any(first)
        || words[..end].iter().any(|word| word == "--hyperfine=1");
    let (Some(mut at), true) = (bench, is_first) else {
        return words;
    };
    let short = |word: &OsString| word.to_str().is_some_and(|word| word.starts_with("-S"));
    while at < end && !short(&words[at]) {
        at += 1 + values_of_parameter(&words[at]);
    }
    if at >= end {
        return words;
    }
    let joined = words[at].to_string_lossy()[2..].to_owned();
    if joined.is_empty() {
        words[at] = "--shell".into();
    } else {
        words[at] = format!("--shell={}", joined.trim_start_matches('=')).into();
    }
    words
}

/// How many words after this one are values of its parameter, whatever they begin with.
fn values_of_parameter(word: &OsStr) -> usize {
    match word.to_str() {
        Some("-L" | "--parameter-list") => 2,
        Some("-P" | "--parameter-scan") => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_shell_understands_is_refused_and_what_is_quoted_is_not() {
        for line in [
            "a | b",
            "cd x; make",
            "a && b",
            "A=1 b",
            "gzip -c x >y",
            "a 2>&1",
            "a &",
        ] {
            let error = wants_no_shell(line).unwrap_err().to_string();
            assert!(error.contains("-S"), "{line}: {error}");
        }
        for line in [
            "grep 'a | b' x",
            "grep \"a ; b\" x",
            "echo it's | wc",
            "echo \"it is | wc\\",
            "echo it is\\",
            "curl http://a/?b=1&c=2",
            "x --y=1",
        ] {
            wants_no_shell(line).unwrap();
        }
    }

    #[test]
    fn the_shell_of_the_first_generation_is_a_long_flag_here() {
        let typed = |line: &str| -> Vec<String> {
            let words = line.split(' ').map(OsString::from);
            let words = as_typed(words).into_iter();
            words.map(|word| word.into_string().unwrap()).collect()
        };
        assert_eq!(
            typed("l bench --hyperfine 1 -S bash x").join(" "),
            "l bench --hyperfine 1 --shell bash x"
        );
        assert_eq!(
            typed("l bench --hyperfine=1 -Sbash x").join(" "),
            "l bench --hyperfine=1 --shell=bash x"
        );
        for kept in [
            "l bench -S x",
            "l load -S x --hyperfine 1",
            "l bench --hyperfine 1 -- -S",
            "l bench -S -- --hyperfine 1",
            "l bench --hyperfine 1 -L opt -S,-c x",
            "l bench --hyperfine 1 --parameter-scan -S 1 2 x",
        ] {
            assert_eq!(typed(kept).join(" "), kept);
        }
    }
}
