//! The only place that prints.
#![expect(clippy::print_stderr, reason = "this is where printing is done")]

use std::io::{BufRead as _, IsTerminal as _, Write as _};

/// Columns of a page that nobody sees on a terminal.
const PLAIN_WIDTH: usize = 100;

/// Standard output for answers, standard error for everything else.
pub(crate) struct Console {
    terminal: bool,
}

impl Console {
    pub(crate) fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
        }
    }

    /// An answer. A reader that has gone, as in `| head`, is no error.
    pub(crate) fn say(&self, text: &str) {
        let mut output = std::io::stdout().lock();
        let _ = writeln!(output, "{text}").and_then(|()| output.flush());
    }

    /// A remark beside the answer.
    pub(crate) fn note(&self, text: &str) {
        eprintln!("{text}");
    }

    /// What happened, where, and what to do.
    pub(crate) fn error(&self, text: &str) {
        eprintln!("linerate: {text}");
    }

    /// Whether a person is there to see progress and to answer a question.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal && std::io::stdin().is_terminal()
    }

    /// Columns of the page that standard output is.
    pub(crate) fn width(&self) -> usize {
        if !std::io::stdout().is_terminal() {
            return PLAIN_WIDTH;
        }
        terminal_size::terminal_size().map_or(PLAIN_WIDTH, |(width, _)| usize::from(width.0))
    }

    /// Whether colour is welcome: on a terminal, and not with `NO_COLOR` (no-color.org).
    pub(crate) fn colour(&self) -> bool {
        std::io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
    }

    /// Asks a person; nobody there means no.
    pub(crate) fn asks_yes(&self, question: &str) -> bool {
        if !self.is_terminal() {
            return false;
        }
        eprint!("{question} [y/N] ");
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
    }
}
