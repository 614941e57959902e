//! The command line: one declaration, from which parser, help, completions and man pages come.

use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, CommandFactory as _, FromArgMatches as _, Parser};

use crate::commands::Command;
use crate::commands::bench::hyperfine;
use crate::run::RunFlags;

/// How fast this machine can serve, what holds it back, and what each fix buys
///
/// Without a command, linerate runs the built-in study `http-json` in quick form: two minutes on
/// loopback, no privilege needed, nothing left but one folder under `linerate-runs/`. Client and
/// server run in a namespace of their own, so nothing on this machine is changed. It ends with the
/// answer in one sentence, the table behind it, what a sceptic would doubt, and the path of the
/// report.
///
/// Answers go to standard output; remarks, progress and errors go to standard error. Every command
/// that prints figures takes --json; docs/schema describes the shapes.
#[derive(Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "`linerate --help` says more, and `linerate COMMAND --help` explains a command.",
    after_long_help = AFTER_HELP
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) flags: RunFlags,
    /// Print only answers and errors: no remarks, no progress, no questions
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    pub(crate) quiet: bool,
}

/// Heading of the flags that every command takes.
const EVERYWHERE: &str = "Everywhere";

const AFTER_HELP: &str = "\
Examples:
  The main job, two minutes:
    linerate
  Check that it works here, in seconds; no verdicts:
    linerate --smoke
  Which of two running servers is better?
    linerate versus http://127.0.0.1:8080/ http://127.0.0.1:8081/
  How long do users wait at 20,000 requests/s?
    linerate load http://127.0.0.1:8080/ --rate 20000
  Is this commit slower than main?
    linerate gate main HEAD --build make --serve './app {port}'
  Client and server with a network between them, on this machine:
    linerate rig up
  The judgement of a run as JSON for another program, and nothing else:
    linerate study report linerate-runs/RUN --json --quiet

Exit codes:
  0    done; what was asked is answered
  1    the answer to a yes-or-no question is no: for
       `versus --fail-if-worse`, B is worse; for `versus --slo`, B fails it;
       for `bench --fail-if-slower`, a command is slower; for
       `doctor --check`, this machine is not fit; for `load`, not one request
       was answered; for `load --slo`, not even the lowest rate holds; for
       `gate`, the commit is slower; for `plan network`, no machine carries
       the rate
  2    could not run: wrong usage, bad input, or the environment refuses.
       What was measured until then is kept
  3    the machine was left changed; the message says what, and how to undo
       it: from `levers apply`, `levers undo` and `study run --host` if a
       value could not be put back, and from `rig clean` if a process that
       is not ours keeps a namespace
  4    `gate` cannot tell
  130  stopped by Ctrl-C (SIGINT), 143 by SIGTERM, 129 by SIGHUP: what was
       measured is kept, and the message says how to go on, or for `versus`
       how to judge it. The same signal again, more than 0.3 s after the
       first, ends it at once. `serve` and `echo` finish the answers under way
       and exit with 0
  any  other code is that of the command that `link`, `rig exec` or
       `levers run` ran

Environment:
  NO_COLOR         set to anything: no colour
  CLICOLOR_FORCE   set to anything but 0: colour without a terminal too
  Otherwise colour is used on terminals only, and so is the progress line.";

impl Arguments {
    /// Reads the command line of this process.
    pub(crate) fn read() -> Result<Self, Error> {
        Self::from_words(hyperfine::as_typed(std::env::args_os()))
    }

    pub(crate) fn from_words(
        words: impl IntoIterator<Item = impl Into<std::ffi::OsString> + Clone>,
    ) -> Result<Self, Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(words)?;
        if let Some(message) = misplaced(&matches) {
            return Err(command.error(ErrorKind::ArgumentConflict, message));
        }
        Self::from_arg_matches(&matches)
    }
}

/// Finds a flag of the main job that stands before a command: it would do nothing there, and the
/// user would not know.
fn misplaced(matches: &ArgMatches) -> Option<String> {
    let command = matches.subcommand_name()?;
    let flags = RunFlags::augment_args(clap::Command::new("flags"));
    let typed = |flag: &&clap::Arg| {
        matches.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let flag = flags.get_arguments().find(typed)?.get_long()?;
    Some(format!(
        "--{flag} before a command belongs to the main job, which has no command; if `{command}` \
         takes it, put it behind: linerate {command} … --{flag}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `look` with every command, its path first.
    fn walk(command: &clap::Command, path: &str, look: &mut impl FnMut(&str, &clap::Command)) {
        look(path, command);
        for inner in command.get_subcommands() {
            walk(inner, &format!("{path} {}", inner.get_name()), look);
        }
    }

    /// The words of a line as a shell would cut it, up to what is for the shell.
    fn shell_words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (index, piece) in line.split('\'').enumerate() {
            if index % 2 == 1 {
                words.push(piece.to_owned());
                continue;
            }
            for word in piece.split_whitespace() {
                if ["|", "&", "&&", ">", "#"].contains(&word) {
                    return words;
                }
                words.push(word.to_owned());
            }
        }
        words
    }

    #[test]
    fn every_example_of_every_help_page_is_understood() {
        let mut examples = 0;
        walk(&Arguments::command(), "linerate", &mut |path, command| {
            let help = command
                .get_after_long_help()
                .or_else(|| command.get_after_help());
            let text = help.map(ToString::to_string).unwrap_or_default();
            for line in text.lines().filter(|line| line.starts_with("  ")) {
                if line.trim() != "linerate" && !line.trim().starts_with("linerate ") {
                    continue;
                }
                examples += 1;
                let words = shell_words(line);
                if let Err(error) = Arguments::from_words(&words) {
                    panic!("{path}: {line}\n{words:?}\n{error}");
                }
            }
        });
        assert!(examples > 10, "{examples}");
    }

    #[test]
    fn the_declaration_holds_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_flag_of_the_main_job_before_a_command_is_refused_and_quiet_is_not() {
        let parse = |words: &[&str]| Arguments::from_words(words).map(|read| read.quiet);
        let error = parse(&["linerate", "--json", "doctor"]).unwrap_err();
        assert!(error.to_string().contains("put it behind"), "{error}");
        assert!(parse(&["linerate", "--quiet", "doctor"]).unwrap());
        assert!(parse(&["linerate", "doctor", "-q"]).unwrap());
        assert!(!parse(&["linerate", "--smoke"]).unwrap());
    }
}
