//! The command that repeats a run: what was typed, by the declared names of the flags, with the
//! seed that was drawn. Flags that concern that run alone are left out, and what may be secret must
//! be put in again by hand.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use model::study::url_without_secrets;

use crate::console::Console;
use crate::request::KEPT_BACK;

/// Flags of one run alone: where it is saved, whether it may begin, how it is printed, and its
/// seed.
const OF_ONE_RUN: [&str; 6] = ["out", "yes", "full", "json", "quiet", "seed"];

/// Returns the command that repeats the run of this process; `main_job` is its subcommand if none
/// was typed.
pub(crate) fn command(main_job: &[&str], seed: u64, console: &Console) -> String {
    let mut declared = console.command_line();
    declared.build();
    let read = declared.clone().get_matches_from(std::env::args_os());
    let mut words = vec![declared.get_name().to_owned()];
    let (mut command, mut read) = (&declared, &read);
    if read.subcommand().is_none() {
        words.extend(main_job.iter().map(|word| (*word).to_owned()));
    }
    while let Some((name, inner)) = read.subcommand() {
        words.push(name.to_owned());
        command = command.find_subcommand(name).unwrap_or(command);
        read = inner;
    }
    words.extend(typed(command, read, |argument| !argument.is_last_set()));
    words.extend(["--seed".to_owned(), seed.to_string()]);
    let last = typed(command, read, Arg::is_last_set);
    if !last.is_empty() {
        words.push("--".to_owned());
        words.extend(last);
    }
    shell_words::join(words)
}

/// Returns the arguments of one kind that were typed for a command.
fn typed(command: &Command, read: &ArgMatches, kind: impl Fn(&Arg) -> bool) -> Vec<String> {
    let of_this = |argument: &&Arg| {
        let id = argument.get_id().as_str();
        kind(argument)
            && !OF_ONE_RUN.contains(&id)
            && read.value_source(id) == Some(ValueSource::CommandLine)
    };
    let arguments = command.get_arguments().filter(of_this);
    arguments
        .flat_map(|argument| words(argument, read))
        .collect()
}

/// Returns one argument as it is typed, as often as it was.
fn words(argument: &Arg, read: &ArgMatches) -> Vec<String> {
    let flag = argument.get_long().map(|name| format!("--{name}"));
    if !argument.get_action().takes_values() {
        return flag.into_iter().collect();
    }
    let id = argument.get_id().as_str();
    let mut words = Vec::new();
    for values in read.get_raw_occurrences(id).into_iter().flatten() {
        words.extend(flag.clone());
        words.extend(values.map(|value| shown(id, &value.to_string_lossy())));
    }
    words
}

/// Returns a value without what may be secret.
fn shown(id: &str, value: &str) -> String {
    match id {
        "headers" => {
            let name = value.split(':').next().unwrap_or_default();
            format!("{name}: {KEPT_BACK}")
        }
        // Commands for a shell, which would do something else without their URLs.
        "build" | "serve" | "run" => value.to_owned(),
        "body" if !value.starts_with('@') => KEPT_BACK.to_owned(),
        // A load is resumed by its command, so its URLs keep their hosts.
        "urls" => {
            let sent = value.split('#').next().unwrap_or_default();
            let place = sent
                .split_once('?')
                .map(|(place, _)| format!("{place}?{KEPT_BACK}"));
            place.unwrap_or_else(|| sent.to_owned())
        }
        _ if value.contains("://") => url_without_secrets(value),
        _ => value.to_owned(),
    }
}
