//! Linerate: how fast a Linux machine can serve, what holds it back, what each fix buys.

mod agents;
mod arguments;
mod command_run;
mod commands;
mod console;
mod cpu_flags;
mod engine_flag;
mod failure;
mod in_our_place;
mod ladder_flags;
mod left_set;
mod listening;
mod load_forms;
mod new_folder;
mod ourselves;
mod ownership;
mod progress;
mod progress_line;
mod repeat;
mod request;
mod rig_flags;
mod run;
mod seconds;
mod serving;
mod shape;
mod shown;
mod slo;
mod socket_flags;
mod stopping;
mod strangers;
mod target;
mod tls_flags;
mod told;
mod trust;
mod values;
mod waiting;

use std::process::ExitCode;

use arguments::Arguments;
use clap::CommandFactory as _;
use console::Console;

/// Exit code of a command that could not run.
const COULD_NOT_RUN: u8 = 2;

fn main() -> ExitCode {
    take_our_name();
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(other) => return say_clap_message(&other),
    };
    let console = Console::new(arguments.quiet, Arguments::command);
    let outcome = commands::run(arguments.command, &arguments.flags, &console);
    let code = outcome.unwrap_or_else(|error| {
        console.error(&words(&error));
        ExitCode::from(COULD_NOT_RUN)
    });
    let Some(error) = console.unwritten() else {
        return code;
    };
    console.error(&format!("the answer could not be written: {error}"));
    ExitCode::from(COULD_NOT_RUN)
}

/// Sets the name of this process. The kernel names it by the last part of its path, which is `exe`
/// where we start ourselves.
fn take_our_name() {
    if std::env::args_os()
        .next()
        .is_some_and(|path| path == ourselves::OURSELVES)
    {
        // Without it only lists of processes are less clear.
        let _ = sys::process::set_name(c"linerate");
    }
}

/// Prints what the parser returns instead of arguments: the help or the version asked for, or what
/// was wrong. A reader that has gone is no error.
fn say_clap_message(other: &clap::Error) -> ExitCode {
    if other.use_stderr() {
        Console::refuse(other);
        ExitCode::from(COULD_NOT_RUN)
    } else {
        let _ = other.print();
        ExitCode::SUCCESS
    }
}

/// Returns an error with its causes, each once: some messages hold their cause already.
fn words(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_the_message_holds_is_not_said_again() {
        let cause = || anyhow::anyhow!("no such file");
        let held = cause().context("run.json: no such file");
        assert_eq!(words(&held), "run.json: no such file");
        assert_eq!(
            words(&cause().context("run.json")),
            "run.json: no such file"
        );
    }
}
