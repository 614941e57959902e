//! Shows the progress of a comparison on the console.

use std::time::Duration;

use study::bench::BenchProgress;

use crate::console::Console;
use crate::progress_line::ProgressLine;

/// Shorter comparisons are not announced: they end before anybody wonders.
const WORTH_A_WORD_MS: u64 = 2000;
/// Plain lines printed for a long comparison where no changing line can be drawn.
const PLAIN_LINES: usize = 4;

pub(super) struct ConsoleProgress<'a> {
    console: &'a Console,
    line: ProgressLine<'a>,
}

impl<'a> ConsoleProgress<'a> {
    pub(super) fn new(console: &'a Console) -> Self {
        Self {
            console,
            line: ProgressLine::new(console, 0),
        }
    }

    /// Removes the changing line.
    pub(super) fn end(&self) {
        self.line.end();
    }
}

impl BenchProgress for ConsoleProgress<'_> {
    fn phase(&mut self, what: &str) {
        self.line.phase(what);
    }

    fn planned(&mut self, rounds: u32, arms: usize, expected_ms: u64) {
        if expected_ms < WORTH_A_WORD_MS {
            return;
        }
        let time = humantime::format_duration(Duration::from_secs(expected_ms / 1000));
        let text = format!("{rounds} rounds of {arms} runs take about {time}");
        self.line.say(&text);
        self.line = ProgressLine::new(self.console, PLAIN_LINES);
    }

    fn run_done(&mut self, done: usize, planned: usize, left_ms: u64) {
        let seconds = left_ms.div_ceil(1000);
        let text = format!("run {done} of {planned}, {seconds} s left");
        self.line.step(done, planned, &text);
    }
}
