//! `linerate completions SHELL`: prints the script with which a shell completes a command line.

use std::process::ExitCode;

use clap::{Command, Id};
use clap_complete::Shell;

use crate::console::Console;

/// Print a script that completes commands and flags in a shell
///
/// It is made from the declaration that the parser itself uses, so it knows every command and
/// every flag of this program. Print it again after an update.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  In this shell only, for bash:
    source <(linerate completions bash)
  In every bash from now on:
    linerate completions bash > ~/.local/share/bash-completion/completions/linerate
  For zsh, into a folder that is in $fpath:
    linerate completions zsh > ~/.zfunc/_linerate
  For fish:
    linerate completions fish > ~/.config/fish/completions/linerate.fish")]
pub(crate) struct Arguments {
    /// The shell to write for
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> ExitCode {
    let mut script = Vec::new();
    let mut command = without_hidden(&console.command_line());
    clap_complete::generate(arguments.shell, &mut command, "linerate", &mut script);
    console.say(String::from_utf8_lossy(&script).trim_end());
    ExitCode::SUCCESS
}

/// Builds a copy of a command that has only what is shown. The generators would offer hidden
/// commands and flags too, and none can be removed from a `Command`.
fn without_hidden(command: &Command) -> Command {
    let arguments = command.get_arguments();
    let shown = arguments.filter(|argument| !argument.is_hide_set());
    let arguments: Vec<_> = shown.cloned().collect();
    let is_shown = |id: &Id| arguments.iter().any(|argument| argument.get_id() == id);
    let groups = command.get_groups();
    let groups = groups.filter(|group| group.get_args().all(is_shown));
    let groups: Vec<_> = groups.cloned().collect();
    let inner = command.get_subcommands();
    Command::new(command.get_name().to_owned())
        .version(command.get_version().unwrap_or_default().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .disable_version_flag(command.get_version().is_none())
        .args(arguments)
        .groups(groups)
        .subcommands(
            inner
                .filter(|inner| !inner.is_hide_set())
                .map(without_hidden),
        )
}
