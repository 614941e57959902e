//! Progress: one line that changes on a terminal, a few plain ones elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::console::Console;

pub(crate) struct ProgressLine<'a> {
    console: &'a Console,
    bar: ProgressBar,
    plain_lines: usize,
    plain_lines_said: usize,
}

impl<'a> ProgressLine<'a> {
    /// Returns a line of progress. Where nothing can be drawn, a plain line is printed at each of
    /// `plain_lines` equal parts.
    pub(crate) fn new(console: &'a Console, plain_lines: usize) -> Self {
        let target = if console.may_draw() {
            ProgressDrawTarget::stderr_with_hz(5)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("  {bar:24} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            console,
            bar,
            plain_lines,
            plain_lines_said: 0,
        }
    }

    /// Prints a line that stays, above the one that changes.
    pub(crate) fn say(&self, text: &str) {
        self.bar.suspend(|| self.console.note(text));
    }

    /// Says what is going on, on the line that changes.
    pub(crate) fn phase(&self, what: &str) {
        self.bar.set_message(foreign::shown(what).into_owned());
    }

    /// Shows that one more of `planned` is done. The last needs no plain line, since the answer
    /// follows.
    pub(crate) fn step(&mut self, done: usize, planned: usize, text: &str) {
        // Each of these calls may draw.
        if self.bar.length() != Some(planned as u64) {
            self.bar.set_length(planned as u64);
        }
        self.bar.set_message(foreign::shown(text).into_owned());
        self.bar.set_position(done as u64);
        let due = done * self.plain_lines / planned.max(1);
        if !self.console.may_draw() && done < planned && due > self.plain_lines_said {
            self.plain_lines_said = due;
            self.console.note(text);
        }
    }

    /// Removes the changing line.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
