//! A campaign's progress, as it is shown to a person.

use std::time::Duration;

use model::cpus::CpuShare;
use model::lever::Leave;
use model::run::Rig;
use model::{Doubt, Facts};
use study::Progress;
use study::progress::Outlook;

use crate::console::Console;
use crate::progress_line::ProgressLine;

/// Plain lines of progress: one at every tenth of the plan.
const PLAIN_LINES: usize = 10;

/// Shows a campaign to a person.
pub(crate) struct ConsoleProgress<'a> {
    console: &'a Console,
    line: ProgressLine<'a>,
    yes: bool,
}

impl<'a> ConsoleProgress<'a> {
    pub(crate) fn new(console: &'a Console, yes: bool) -> Self {
        Self {
            console,
            line: ProgressLine::new(console, PLAIN_LINES),
            yes,
        }
    }

    /// Removes the changing line.
    pub(crate) fn end(&self) {
        self.line.end();
    }
}

impl Progress for ConsoleProgress<'_> {
    fn machine(&mut self, facts: &Facts) {
        self.line.say(&format!(
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
    }

    fn cpus(&mut self, cpus: &CpuShare) {
        self.line.say(&cpus.to_string());
    }

    fn rig(&mut self, rig: &Rig, leave: Leave) {
        let hosts = match rig {
            Rig::PrivateNamespace => "a network namespace of our own",
            Rig::Loopback { .. } => "this machine's own loopback",
            Rig::Netns => "two network namespaces of our own, joined",
            Rig::Router => "two network namespaces of our own and a router between them",
            Rig::Tunnel => "two network namespaces of our own, a tunnel over a router",
            Rig::Hosts => "the hosts of the hosts file; this is the server's",
        };
        let reach = match (leave, rig) {
            (Leave { on_host: true, .. }, _) => {
                "; levers may reach this whole machine, and are put back after their blocks"
            }
            (Leave { in_place: true, .. }, _) => {
                "; levers are set in its network namespace, and put back after their blocks"
            }
            (_, Rig::PrivateNamespace | Rig::Netns) => "; nothing of this machine is changed",
            _ => "",
        };
        self.line.say(&format!("rig: {hosts}{reach}"));
    }

    fn outlook(&mut self, outlook: &Outlook) {
        self.line.say(&foreseen(outlook));
    }

    fn may_load(&mut self, signs: &[Doubt]) -> bool {
        for sign in signs {
            self.line.say(&format!("at work: {}", sign.what()));
        }
        if self.yes {
            return true;
        }
        self.line
            .say("the run would keep one or two of its CPUs busy until it ends");
        self.console.asks_yes("load this machine anyway?")
    }

    fn doubt(&mut self, doubt: &Doubt) {
        self.line.say(&format!("doubt: {}", doubt.what()));
    }

    fn phase(&mut self, what: &str) {
        self.line.phase(what);
    }

    fn block_saved(&mut self, done: usize, planned: usize, left_ms: u64) {
        let seconds = left_ms.div_ceil(1000);
        let text = format!("block {done} of {planned}, {seconds} s left");
        self.line.step(done, planned, &text);
    }
}

/// Says what changes a plan will see, and how long it takes.
fn foreseen(outlook: &Outlook) -> String {
    let rounds = outlook.rounds;
    // No plan takes 0 s.
    let seconds = outlook.planned_ms.div_ceil(1000).max(1);
    let planned = humantime::format_duration(Duration::from_secs(seconds));
    match outlook.expected_visible {
        Some(visible) => format!(
            "within {rounds} rounds ({planned}) this machine can see changes of {} from about {:.1} % on",
            outlook.outcome,
            visible * 100.0
        ),
        None if rounds < outlook.fewest_rounds => format!(
            "{rounds} rounds take {planned}; too few rounds to see any change: a verdict takes {}",
            outlook.fewest_rounds
        ),
        None => {
            format!("{rounds} rounds take {planned}; too little is known to say what they will see")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_too_few_for_a_verdict_are_foreseen_to_see_nothing() {
        let outlook = |rounds, expected_visible| Outlook {
            outcome: "wall time".to_owned(),
            expected_visible,
            sought: 0.03,
            rounds,
            fewest_rounds: 10,
            planned_ms: 4000,
        };
        let few = foreseen(&outlook(2, None));
        let expected = "2 rounds take 4s; too few rounds to see any change: a verdict takes 10";
        assert_eq!(few, expected);
        let short = foreseen(&Outlook {
            planned_ms: 640,
            ..outlook(2, None)
        });
        assert!(short.starts_with("2 rounds take 1s; "), "{short}");
        let unknown = foreseen(&outlook(10, None));
        assert!(unknown.ends_with("too little is known to say what they will see"));
        let known = foreseen(&outlook(10, Some(0.015)));
        assert!(
            known.ends_with("changes of wall time from about 1.5 % on"),
            "{known}"
        );
    }
}
