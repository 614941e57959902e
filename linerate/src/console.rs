//! The only place that prints.
#![expect(clippy::print_stderr, reason = "this is where printing is done")]

use std::io::{IsTerminal as _, Write as _};

/// Standard output for answers, standard error for everything else.
pub(crate) struct Console {
    terminal: bool,
}

impl Console {
    pub(crate) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal() }
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
        self.terminal
    }
}
