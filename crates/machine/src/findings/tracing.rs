//! Tracing that somebody left on.

use std::fs;

use model::finding::Finding;

use super::Subject;
use crate::errno::denied;
use crate::targets;
use crate::tree::Tree;

const FOLDER: &str = "sys/kernel/tracing";
/// Files that are empty while nobody traces.
const LISTS: [&str; 4] = [
    "set_event",
    "kprobe_events",
    "uprobe_events",
    "enabled_functions",
];
/// What the file descriptor of a perf event links to.
const PERF: &str = "anon_inode:[perf_event]";

/// Signs of tracing, what was looked at, and what was hidden.
#[derive(Default)]
struct Traces {
    signs: Vec<String>,
    hidden: Vec<String>,
    looked_at: Vec<&'static str>,
}

pub(super) fn check(subject: &Subject) -> Option<Finding> {
    let mut seen = Traces::default();
    seen.look_at_tracefs(&subject.tree);
    seen.look_at_perf(&subject.tree);
    Some(judge(&seen))
}

impl Traces {
    fn look_at_tracefs(&mut self, tree: &Tree) {
        match fs::read_dir(tree.path(FOLDER)).map(Iterator::count) {
            Ok(0) => self.looked_at.push("tracefs is not mounted"),
            Ok(_) => {
                self.looked_at.push("/sys/kernel/tracing");
                self.signs.extend(left_on(tree));
            }
            Err(error) => self.hidden.push(denied("/sys/kernel/tracing", &error)),
        }
    }

    fn look_at_perf(&mut self, tree: &Tree) {
        let (pids, hidden) = targets::holders(&[PERF.to_owned()]);
        let comms = pids
            .iter()
            .filter_map(|pid| tree.text(&format!("proc/{pid}/comm")));
        self.signs
            .extend(comms.map(|comm| format!("perf events held by {comm}")));
        if hidden == 0 {
            self.looked_at.push("perf events in /proc/*/fd");
        } else {
            let reason = "open files of other users' processes: Permission denied (EACCES)";
            self.hidden.push(reason.to_owned());
        }
    }
}

fn judge(seen: &Traces) -> Finding {
    let [signs, hidden] = [&seen.signs, &seen.hidden].map(|words| words.join("; "));
    let looked_at = seen.looked_at.join("; ");
    match (signs.is_empty(), hidden.is_empty()) {
        (false, _) => say!("tracing.on", signs),
        (true, true) => say!("tracing.none", looked_at),
        (true, false) => say!("tracing.hidden", hidden),
    }
}

/// The lists that are not empty, and the tracer if one is active.
fn left_on(tree: &Tree) -> Vec<String> {
    let text = |name: &str| tree.text(&format!("{FOLDER}/{name}")).unwrap_or_default();
    let lists = LISTS.iter().filter(|list| !text(list).is_empty());
    let mut found: Vec<_> = lists.map(|list| format!("{list} is not empty")).collect();
    let tracer = text("current_tracer");
    if !["", "nop"].contains(&tracer.as_str()) {
        found.push(format!("tracer {tracer}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use model::finding::Severity;

    use super::*;
    use crate::tree::planted::Planted;

    #[test]
    fn lists_that_are_not_empty_and_a_tracer_are_found() {
        let planted = Planted::new(
            "tracing",
            &[
                ("sys/kernel/tracing/set_event", ""),
                ("sys/kernel/tracing/uprobe_events", "p:probe /bin/sh:0x10\n"),
                ("sys/kernel/tracing/current_tracer", "function\n"),
            ],
        );
        let mut seen = Traces::default();
        seen.look_at_tracefs(&planted.tree);
        assert_eq!(
            seen.signs,
            ["uprobe_events is not empty", "tracer function"]
        );
        assert_eq!(judge(&seen).severity, Severity::Notice);
    }

    #[test]
    fn what_is_hidden_is_unknown_unless_something_else_shows() {
        let mut seen = Traces {
            hidden: vec!["EACCES".to_owned()],
            ..Traces::default()
        };
        assert_eq!(judge(&seen).severity, Severity::Unknown);
        seen.signs.push("perf events held by perf".to_owned());
        assert_eq!(judge(&seen).severity, Severity::Notice);
        assert_eq!(judge(&Traces::default()).severity, Severity::Fine);
    }
}
