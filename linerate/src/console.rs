//! The only place that prints.

use std::io::{BufRead as _, ErrorKind, IsTerminal as _};
use std::sync::{Arc, OnceLock};

/// Columns of a page that is not printed to a terminal.
const PLAIN_WIDTH: usize = 100;

/// Escape codes that the parser of the command line uses: reset, bold, underlined, red, green and
/// yellow.
const PARSERS_CODES: [&str; 6] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[4m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
];

/// Standard output for answers, standard error for everything else, and the declaration of the
/// command line. Clones share the state.
#[derive(Clone)]
pub(crate) struct Console {
    /// Whether only answers and errors are printed.
    quiet: bool,
    /// Whether standard error is a terminal.
    terminal: bool,
    command_line: fn() -> clap::Command,
    /// Error of the first answer that could not be written.
    unwritten: Arc<OnceLock<std::io::Error>>,
}

impl Console {
    pub(crate) fn new(quiet: bool, command_line: fn() -> clap::Command) -> Self {
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            command_line,
            unwritten: Arc::default(),
        }
    }

    /// Returns the declaration of the command line that this process was started with.
    pub(crate) fn command_line(&self) -> clap::Command {
        (self.command_line)()
    }

    /// Prints an answer. A reader that has gone, as in `| head`, is no error: it has what it
    /// wanted.
    pub(crate) fn say(&self, text: &str) {
        self.see(write(std::io::stdout().lock(), text, "\n"));
    }

    fn see(&self, written: std::io::Result<()>) {
        match written {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => self.could_not_write(error),
            _ => {}
        }
    }

    /// Prints an answer that `report` has coloured.
    pub(crate) fn say_painted(&self, text: &str) {
        let text = foreign::shown_but(text, &report::text::CODES);
        self.see(put(std::io::stdout().lock(), &text, "\n"));
    }

    /// Prints an answer that must reach its reader.
    ///
    /// # Errors
    /// When the reader has gone, or the answer cannot be written.
    pub(crate) fn tell(text: &str) -> std::io::Result<()> {
        write(std::io::stdout().lock(), text, "\n")
    }

    /// Returns why an answer could not be written, such as a full disk.
    pub(crate) fn unwritten(&self) -> Option<&std::io::Error> {
        self.unwritten.get()
    }

    /// Records that an answer or a file that was asked for could not be written; the first such
    /// error is reported at the end.
    pub(crate) fn could_not_write(&self, error: std::io::Error) {
        let _ = self.unwritten.set(error);
    }

    /// Prints a remark beside the answer, unless `--quiet` was given.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            print(std::io::stderr().lock(), text, "\n");
        }
    }

    /// Prints an error: what happened, where, and what to do.
    pub(crate) fn error(&self, text: &str) {
        print(std::io::stderr().lock(), &format!("linerate: {text}"), "\n");
    }

    /// Prints what is wrong with a command line. The parser repeats words of it, such as names of
    /// files, which may be somebody else's.
    pub(crate) fn refuse(wrong: &clap::Error) {
        let (error, said) = (std::io::stderr(), wrong.render());
        let asked = |name: &str| std::env::var(name).ok();
        let text = if wants_colour(error.is_terminal(), asked) {
            foreign::shown_but(&said.ansi().to_string(), &PARSERS_CODES).into_owned()
        } else {
            foreign::shown(&said.to_string()).into_owned()
        };
        let _ = put(error.lock(), &text, "");
    }

    /// Whether remarks are printed.
    pub(crate) fn may_note(&self) -> bool {
        !self.quiet
    }

    /// Whether a line that changes may be drawn on standard error.
    pub(crate) fn may_draw(&self) -> bool {
        self.terminal && !self.quiet
    }

    /// Returns the columns of a page on standard output.
    pub(crate) fn width(&self) -> usize {
        if !std::io::stdout().is_terminal() {
            return PLAIN_WIDTH;
        }
        terminal_size::terminal_size().map_or(PLAIN_WIDTH, |(width, _)| usize::from(width.0))
    }

    /// Whether colour is wanted on standard output.
    pub(crate) fn colour(&self) -> bool {
        let asked = |name: &str| std::env::var(name).ok();
        wants_colour(std::io::stdout().is_terminal(), asked)
    }

    /// Asks a person a question. Without a person at a terminal, or with `--quiet`, the answer is
    /// no.
    pub(crate) fn asks_yes(&self, question: &str) -> bool {
        if !self.may_draw() || !std::io::stdin().is_terminal() {
            return false;
        }
        print(std::io::stderr().lock(), question, " [y/N] ");
        // Not `read_line`, which would hide that Ctrl-C was the answer.
        let mut input = std::io::stdin().lock();
        let answer = input.fill_buf().unwrap_or_default().trim_ascii();
        matches!(answer, b"y" | b"Y" | b"yes")
    }
}

/// Writes text to standard error. A failure is ignored: there is nobody left to report it to.
fn print(output: impl std::io::Write, text: &str, end: &str) {
    let _ = write(output, text, end);
}

/// Writes text without anything that a terminal would act on, wherever the text comes from.
fn write(output: impl std::io::Write, text: &str, end: &str) -> std::io::Result<()> {
    put(output, &foreign::shown(text), end)
}

fn put(mut output: impl std::io::Write, text: &str, end: &str) -> std::io::Result<()> {
    write!(output, "{text}{end}").and_then(|()| output.flush())
}

/// Whether to print colour. The convention of no-color.org comes before that of
/// bixense.com/clicolors, and both come before what the terminal is.
fn wants_colour(is_terminal: bool, environment: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| environment(name).filter(|value| !value.is_empty());
    let never = set("NO_COLOR").is_some();
    let always = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let can = is_terminal && set("TERM").is_none_or(|name| name != "dumb");
    !never && (always || can)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_colour_wins_over_forced_colour_and_that_over_the_terminal() {
        let wants = |is_terminal, set: &[(&str, &str)]| {
            wants_colour(is_terminal, |name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(wants(true, &[("NO_COLOR", ""), ("TERM", "xterm")]));
        assert!(!wants(true, &[("TERM", "dumb")]));
        assert!(!wants(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(wants(false, &[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")]));
        assert!(!wants(true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    }
}
