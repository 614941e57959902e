//! `linerate levers journal`: what was set and not put back.

use machine::journal::UnknownLine;
use machine::levers::carry::{self, Standing};
use serde_json::{Value, json};

use super::{FORMAT, by_whom};
use crate::console::Console;

pub(super) fn run(as_json: bool, console: &Console) -> anyhow::Result<()> {
    let (standing, unknown) = (carry::standing()?, carry::unknown()?);
    if as_json {
        let entries: Vec<Value> = standing.iter().map(as_value).collect();
        console.say(&format!(
            "{:#}",
            json!({ "format": FORMAT, "entries": entries, "unknown": unknown.iter().map(as_unknown).collect::<Vec<_>>() })
        ));
    } else if standing.is_empty() && unknown.is_empty() {
        console.say("nothing of ours is set");
    } else {
        for entry in &standing {
            console.say(&render(entry));
        }
        for line in &unknown {
            console.say(&line.to_string());
        }
    }
    Ok(())
}

fn as_unknown(line: &UnknownLine) -> Value {
    json!({
        "path": line.path,
        "line": line.line,
        "why": line.why,
        "text": line.text(),
    })
}

fn render(entry: &Standing) -> String {
    let (id, lever, owner) = (entry.id, &entry.change.lever, entry.owner);
    let state = match (entry.is_of_another_boot, left_s(entry)) {
        _ if entry.is_foreign => format!(
            "; not to be believed, as `{lever}` never sets this; to take it out of the journal and \
             leave the machine as it is: {} undo --forget {id}",
            by_whom()
        ),
        (true, _) => "; the machine has been started since, which put it back".to_owned(),
        (false, _) if entry.is_overdue => "; its trial is over, and it still stands".to_owned(),
        (false, Some(seconds)) => format!("; put back in {seconds} s unless confirmed"),
        (false, None) => String::new(),
    };
    let refused = entry.change.refused.as_ref();
    let refused = refused.map_or_else(String::new, |why| format!("; could not be put back: {why}"));
    let steps = entry
        .change
        .steps
        .iter()
        .zip(&entry.now)
        .map(|(step, now)| {
            let (knob, old, new) = (
                &step.knob,
                step.knob.show(&step.old),
                step.knob.show(&step.new),
            );
            let now = now.as_deref().unwrap_or("not to be read here");
            format!("\n  {knob}: {old} → {new}, now {now}")
        });
    format!(
        "{id} {lever}, set by {owner}{state}{refused}{}",
        steps.collect::<String>()
    )
}

/// Seconds until it is put back by itself.
fn left_s(entry: &Standing) -> Option<u64> {
    let at_ms = entry.change.reverts_at_ms?;
    Some(at_ms.saturating_sub(sys::clock::since_boot_ms()) / 1000)
}

fn as_value(entry: &Standing) -> Value {
    let steps = entry
        .change
        .steps
        .iter()
        .zip(&entry.now)
        .map(|(step, now)| {
            json!({
                "knob": step.knob.to_string(),
                "old": step.knob.show(&step.old),
                "new": step.knob.show(&step.new),
                "now": now,
            })
        });
    json!({
        "entry": entry.id,
        "lever": entry.change.lever,
        "pid": entry.owner.pid,
        "namespace": entry.namespace,
        "is_of_another_boot": entry.is_of_another_boot,
        "is_foreign": entry.is_foreign,
        "reverts_in_s": left_s(entry),
        "refused": entry.change.refused,
        "steps": steps.collect::<Vec<_>>(),
    })
}
