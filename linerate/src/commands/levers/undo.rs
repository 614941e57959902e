//! `linerate levers undo` and `confirm`.

use std::process::ExitCode;
use std::slice;

use anyhow::Context as _;
use machine::levers::Knob;
use machine::levers::carry::{self, KnobFate, Undone};
use schemars::JsonSchema;
use serde::Serialize;

use super::{LEFT_CHANGED, by_whom, find};
use crate::console::Console;
use crate::shape;

/// Put back what was set
///
/// A value that somebody else has set since is left alone and reported, as is a knob that no longer
/// exists; exit code 3 says that not everything is as it was before.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  All that was set, the newest first:
    sudo linerate levers undo
  sudo linerate levers undo mtu
  Drop an entry that is wrong, or that you put back by hand, by its number in the journal:
    sudo linerate levers undo --forget 3")]
pub(super) struct Arguments {
    /// The lever [default: all]
    lever: Option<String>,
    /// Remove this entry from the journal, leave the machine as it is, and say what is left set
    #[arg(long, value_name = "ENTRY", conflicts_with = "lever")]
    forget: Option<u64>,
    /// Print what was done as one JSON value (docs/schema/levers-undo.json)
    #[arg(long)]
    json: bool,
}

/// What was put back.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeversUndo {
    /// One entry for each lever, the newest first.
    undone: Vec<UndoneShape>,
}

/// A lever that was to be put back.
#[derive(Serialize, JsonSchema)]
struct UndoneShape {
    /// Its entry in the journal.
    entry: u64,
    /// Name of the lever, as it is typed.
    lever: String,
    /// Its knobs, the last that was set first.
    knobs: Vec<KnobShape>,
}

/// A knob of a lever that was to be put back.
#[derive(Serialize, JsonSchema)]
struct KnobShape {
    /// A sysctl by its name, or the path of a file.
    knob: String,
    /// What became of it. The exit code is 3 where one is set_by_others, changed_hands, elsewhere,
    /// foreign or refused; for an entry that is forgotten, where one is elsewhere, refused or
    /// forgotten; and where the journal has a line that cannot be read.
    #[schemars(extend("enum" = ["put_back", "was_back", "set_by_others", "gone", "changed_hands", "rebooted", "elsewhere", "foreign", "refused", "forgotten"]))]
    fate: &'static str,
    /// What became of it in words, with values.
    words: String,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    if let Some(id) = arguments.forget {
        return forget(id, arguments.json, console);
    }
    // A name that is not in the catalogue may still be in a journal of another version.
    let undone = carry::undo(arguments.lever.as_deref())?;
    if undone.is_empty() {
        arguments.lever.as_deref().map(find).transpose()?;
    }
    tell(&undone, arguments.json, console);
    let unknown = carry::unknown()?;
    if undone.is_empty() && unknown.is_empty() && !arguments.json {
        console.say(&nothing(arguments.lever.as_deref()));
    }
    for line in &unknown {
        console.error(&format!("not undone: {line}"));
    }
    for undone in undone.iter().filter(|undone| has_foreign(undone)) {
        console.note(&format!(
            "entry {id} stays in the journal; to take it out and leave the machine as it is: \
             {} undo --forget {id}",
            by_whom(),
            id = undone.id
        ));
    }
    let mut fates = undone.iter().flat_map(|undone| &undone.knobs);
    let is_as_before = fates.all(|(_, fate)| fate.is_as_before());
    Ok(exit_code(is_as_before && unknown.is_empty()))
}

/// Removes an entry from the journal. A foreign entry leaves nothing of ours behind.
fn forget(id: u64, as_json: bool, console: &Console) -> anyhow::Result<ExitCode> {
    let forgotten = carry::forget(id)?.with_context(|| {
        format!(
            "the journal has no entry {id} of a lever; `linerate levers journal` shows those there are"
        )
    })?;
    tell(slice::from_ref(&forgotten), as_json, console);
    console.note(&format!("entry {id} is out of the journal"));
    let mut fates = forgotten.knobs.iter().map(|(_, fate)| fate);
    let is_nothing_left = fates.all(|fate| fate.is_back() || *fate == KnobFate::Foreign);
    Ok(exit_code(is_nothing_left))
}

fn tell(undone: &[Undone], as_json: bool, console: &Console) {
    if as_json {
        let undone = undone.iter().map(shape_of).collect();
        return console.say(&shape::lines(LeversUndo { undone }));
    }
    undone
        .iter()
        .flat_map(lines)
        .for_each(|line| console.say(&line));
}

fn has_foreign(undone: &Undone) -> bool {
    undone
        .knobs
        .iter()
        .any(|(_, fate)| *fate == KnobFate::Foreign)
}

fn exit_code(is_as_before: bool) -> ExitCode {
    match is_as_before {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(LEFT_CHANGED),
    }
}

pub(super) fn confirm(lever: Option<&str>, console: &Console) -> anyhow::Result<()> {
    let confirmed = carry::confirm(lever)?;
    if confirmed.is_empty() {
        lever.map(find).transpose()?;
    }
    anyhow::ensure!(
        !confirmed.is_empty(),
        "nothing waits to be confirmed: it was put back already, or would never have been"
    );
    for lever in confirmed {
        console.say(&format!(
            "{lever} stays; to put it back: {} undo {lever}",
            by_whom()
        ));
    }
    Ok(())
}

fn nothing(lever: Option<&str>) -> String {
    lever.map_or_else(
        || "nothing of ours is set".to_owned(),
        |name| format!("nothing of ours is set by `{name}`"),
    )
}

/// One line for each knob that says what became of it.
pub(super) fn lines(undone: &Undone) -> impl Iterator<Item = String> {
    undone
        .knobs
        .iter()
        .map(|(knob, fate)| line(&undone.lever, knob, fate))
}

fn line(lever: &str, knob: &Knob, fate: &KnobFate) -> String {
    match fate {
        KnobFate::PutBack { now } => format!("{knob}: {now} again"),
        KnobFate::WasBack { now } => format!("{knob}: was {now} again already"),
        KnobFate::SetByOthers { now, ours } => {
            format!("{knob}: left at {now}, which somebody else has set; ours was {ours}")
        }
        KnobFate::Gone => format!("{knob}: no longer exists, nor does our value"),
        KnobFate::ChangedHands { now } => {
            format!("{knob}: left as it is: it was assigned again, and belongs to {now} now")
        }
        KnobFate::Rebooted => {
            format!("{knob}: the machine was rebooted since, which put it back")
        }
        KnobFate::Elsewhere { namespace } => format!(
            "{knob}: is in the network namespace {namespace}; run this there, as with linerate rig exec"
        ),
        KnobFate::Foreign => format!(
            "{knob}: the journal says that `{lever}` set it, which `{lever}` never does; left alone"
        ),
        KnobFate::Refused { why } => format!("{knob}: could not be put back: {why}"),
        KnobFate::Forgotten { now, command } => {
            format!("{knob}: left at {now}, which we have set; to put it back: {command}")
        }
    }
}

fn shape_of(undone: &Undone) -> UndoneShape {
    let knob = |(knob, fate): &(Knob, KnobFate)| KnobShape {
        knob: knob.to_string(),
        fate: word(fate),
        words: line(&undone.lever, knob, fate),
    };
    UndoneShape {
        entry: undone.id,
        lever: undone.lever.clone(),
        knobs: undone.knobs.iter().map(knob).collect(),
    }
}

fn word(fate: &KnobFate) -> &'static str {
    match fate {
        KnobFate::PutBack { .. } => "put_back",
        KnobFate::WasBack { .. } => "was_back",
        KnobFate::SetByOthers { .. } => "set_by_others",
        KnobFate::Gone => "gone",
        KnobFate::ChangedHands { .. } => "changed_hands",
        KnobFate::Rebooted => "rebooted",
        KnobFate::Elsewhere { .. } => "elsewhere",
        KnobFate::Foreign => "foreign",
        KnobFate::Refused { .. } => "refused",
        KnobFate::Forgotten { .. } => "forgotten",
    }
}
