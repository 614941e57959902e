//! A campaign's progress on the console: one line that changes on a terminal, plain lines
//! elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::run::Rig;
use model::{Doubt, Facts};
use study::Progress;
use study::progress::Outlook;

use crate::console::Console;

/// Plain lines come at every tenth of the plan.
const PLAIN_LINES: usize = 10;

/// Shows a campaign to a person.
pub(crate) struct ConsoleProgress<'a> {
    console: &'a Console,
    yes: bool,
    bar: ProgressBar,
    plain_lines_said: usize,
}

impl<'a> ConsoleProgress<'a> {
    pub(crate) fn new(console: &'a Console, yes: bool) -> Self {
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
            yes,
            bar,
            plain_lines_said: 0,
        }
    }

    /// Takes the changing line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, text: &str) {
        self.bar.suspend(|| self.console.note(text));
    }
}

impl Progress for ConsoleProgress<'_> {
    fn machine(&mut self, facts: &Facts, rig: &Rig) {
        self.line(&format!(
            "{}, CPUs {} of {}, {:.0} GiB, Linux {}{}",
            facts.cpu_model,
            facts.cpus_allowed,
            facts.cpus_online,
            facts.memory_bytes as f64 / f64::from(1 << 30),
            facts.kernel_release,
            facts
                .virtualisation
                .as_ref()
                .map_or(String::new(), |by| format!(", under {by}")),
        ));
        self.line(match rig {
            Rig::PrivateNamespace => {
                "rig: a network namespace of our own; nothing of this machine is changed"
            }
            Rig::Loopback { .. } => "rig: this machine's own loopback",
        });
    }

    fn outlook(&mut self, outlook: &Outlook) {
        let planned = humantime::format_duration(Duration::from_secs(outlook.planned_ms / 1000));
        self.line(&match outlook.expected_visible {
            Some(visible) => format!(
                "in {} rounds ({planned}) this machine can see changes of CPU per request from about {:.1} % on",
                outlook.rounds,
                visible * 100.0
            ),
            None => format!("{} rounds take {planned}; too little is known to say what they will see", outlook.rounds),
        });
    }

    fn may_load(&mut self, signs: &[Doubt]) -> bool {
        for sign in signs {
            self.line(&format!("at work: {}", sign.what()));
        }
        if self.yes {
            return true;
        }
        self.line("the run would load one CPU with a server and another with a client for two minutes at most");
        self.console.asks_yes("load this machine all the same?")
    }

    fn doubt(&mut self, doubt: &Doubt) {
        self.line(&format!("doubt: {}", doubt.what()));
    }

    fn phase(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    fn block_saved(&mut self, done: usize, planned: usize, left_ms: u64) {
        let left = format!(
            "block {done} of {planned}, {} s left",
            left_ms.div_ceil(1000)
        );
        self.bar.set_length(planned as u64);
        self.bar.set_position(done as u64);
        self.bar.set_message(left.clone());
        let due = done * PLAIN_LINES / planned.max(1);
        if !self.console.may_draw() && due > self.plain_lines_said {
            self.plain_lines_said = due;
            self.console.note(&left);
        }
    }
}
