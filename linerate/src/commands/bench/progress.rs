//! A comparison's progress: one line that changes on a terminal, a few plain ones elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use study::bench::BenchProgress;

use crate::console::Console;

/// Shorter ones end before anybody wonders.
const WORTH_A_WORD_MS: u64 = 2000;
/// Plain lines come at every so manieth part of the plan.
const PLAIN_LINES: usize = 4;

pub(super) struct ConsoleProgress<'a> {
    console: &'a Console,
    bar: ProgressBar,
    is_long: bool,
    plain_lines_said: usize,
}

impl<'a> ConsoleProgress<'a> {
    pub(super) fn new(console: &'a Console) -> Self {
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
            is_long: false,
            plain_lines_said: 0,
        }
    }

    /// Takes the changing line away.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn plain_line(&mut self, done: usize, planned: usize, text: &str) {
        let due = done * PLAIN_LINES / planned.max(1);
        let is_last = due >= PLAIN_LINES;
        if self.is_long && !is_last && due > self.plain_lines_said {
            self.plain_lines_said = due;
            self.console.note(text);
        }
    }
}

impl BenchProgress for ConsoleProgress<'_> {
    fn phase(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    fn planned(&mut self, rounds: u32, arms: usize, expected_ms: u64) {
        self.is_long = expected_ms >= WORTH_A_WORD_MS;
        if self.is_long {
            let time = humantime::format_duration(Duration::from_secs(expected_ms / 1000));
            let text = format!("{rounds} rounds of {arms} runs take about {time}");
            self.bar.suspend(|| self.console.note(&text));
        }
    }

    fn run_done(&mut self, done: usize, planned: usize, left_ms: u64) {
        let seconds = left_ms.div_ceil(1000);
        let text = format!("run {done} of {planned}, {seconds} s left");
        self.bar.set_length(planned as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(text.clone());
        if !self.console.may_draw() {
            self.plain_line(done, planned, &text);
        }
    }
}
