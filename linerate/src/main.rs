//! Linerate: how fast a Linux machine can serve, what holds it back, what each fix buys.

mod commands;
mod console;
mod ownership;
mod progress;
mod run;
mod serving;
mod slo;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;
use console::Console;

/// How fast this machine can serve, what holds it back, and what each fix buys
///
/// Without a command it runs the built-in study `http-json` in quick form: two minutes on
/// loopback, no privilege needed, nothing left but one folder under `linerate-runs/`.
#[derive(Parser)]
#[command(version, max_term_width = 100, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    flags: run::RunFlags,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let console = Console::new();
    let outcome = commands::run(arguments.command, &arguments.flags, &console);
    outcome.unwrap_or_else(|error| {
        console.error(&words(&error));
        ExitCode::from(2)
    })
}

/// An error with its causes, each said once: some messages hold their cause already.
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
