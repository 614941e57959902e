//! `linerate levers status`: each lever on this machine.

use machine::levers::carry::{self, Standing};
use machine::levers::{self, DeviceName, Lever, Obstacle, Reading, Site};
use report::text::wrap;
use schemars::JsonSchema;
use serde::Serialize;

use super::catalogue::{NAME_WIDTH, by_group};
use super::{by_whom, find};
use crate::console::Console;
use crate::shape;

/// Columns of a value.
const VALUE_WIDTH: usize = 20;

/// What each lever is set to, what is recommended, and whether it can be set here
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  linerate levers status
  linerate levers status congestion-control accept-queue
  What differs from what is recommended, for a script:
    linerate levers status --json | jq -r '.levers[] | select(.is_recommended == false).name'

It looks and changes nothing, and needs no rights. In front of each lever: `=` it is as recommended,
`!` it is not, `?` what is right depends on what the machine is for, `-` this machine has none.")]
pub(super) struct Arguments {
    /// The levers; otherwise all
    levers: Vec<String>,
    /// The network device that is meant; otherwise that of the default route
    #[arg(long)]
    device: Option<DeviceName>,
    /// Print it as one JSON value (docs/schema/levers-status.json)
    #[arg(long)]
    json: bool,
}

/// One lever on this machine.
struct LeverRow {
    lever: &'static Lever,
    reading: Result<Reading, Obstacle>,
    recommended: Option<String>,
    /// Why it cannot be set here.
    obstacle: Option<Obstacle>,
    /// The entry of the journal, where we have set it.
    set_in: Option<u64>,
    /// Whether it should have been put back by itself by now.
    is_overdue: bool,
}

/// Levers on this machine.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeversStatus {
    /// One entry for each lever that was asked for.
    levers: Vec<LeverNow>,
    /// Why the journal, or its first line of which that is so, cannot be read, so that a set_in
    /// may not be known; null where all can.
    journal_unreadable: Option<String>,
}

/// A lever on this machine.
#[derive(Serialize, JsonSchema)]
struct LeverNow {
    /// As it is typed.
    name: &'static str,
    /// What it holds, as a person reads it; knobs that hold the same are told once; null where
    /// it cannot be read.
    now: Option<String>,
    /// Why it cannot be read; null where it can.
    unreadable: Option<String>,
    /// What is set when no value is given; null where that depends on what the machine is for.
    recommended: Option<String>,
    /// Whether it holds what is recommended; null where nothing is.
    is_recommended: Option<bool>,
    /// Why it cannot be set here, with the errno; null where it can.
    obstacle: Option<String>,
    /// Entry of the journal in which we have set it for this network namespace; null where we
    /// have not.
    set_in: Option<u64>,
    /// Whether it should have been put back by itself by now, and was not.
    is_overdue: bool,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<()> {
    let site = Site::here(arguments.device.clone());
    let (standing, unknown) = match (carry::standing(), carry::unknown()) {
        (Ok(standing), Ok(unknown)) => (standing, unknown.first().map(ToString::to_string)),
        (Err(error), _) | (_, Err(error)) => (Vec::new(), Some(error.to_string())),
    };
    let meant = match arguments.levers.as_slice() {
        [] => levers::all().collect(),
        names => names
            .iter()
            .map(|name| find(name))
            .collect::<anyhow::Result<Vec<_>>>()?,
    };
    let rows = |levers: Vec<&'static Lever>| {
        let row = |lever| LeverRow::look(lever, &site, &standing);
        levers.into_iter().map(row).collect::<Vec<LeverRow>>()
    };
    if arguments.json {
        console.say(&shape::lines(LeversStatus {
            levers: rows(meant).iter().map(LeverRow::shape).collect(),
            journal_unreadable: unknown,
        }));
        return Ok(());
    }
    let width = console.width();
    for (group, levers) in by_group(meant.into_iter()) {
        console.say(&format!("\n{}", group.title()));
        for row in rows(levers) {
            console.say(&row.render(width));
        }
    }
    if let Some(why) = unknown {
        console.error(&format!(
            "what was set by Linerate is not known, or not all of it: {why}"
        ));
    }
    Ok(())
}

impl LeverRow {
    fn look(lever: &'static Lever, site: &Site, standing: &[Standing]) -> Self {
        let name = lever.name.as_str();
        let set = standing
            .iter()
            .find(|set| set.lever == name && !set.is_of_another_boot && set.is_here);
        Self {
            lever,
            reading: lever.read(site),
            recommended: lever.recommended(site),
            obstacle: lever.may_set(site).err(),
            set_in: set.map(|set| set.entry),
            is_overdue: set.is_some_and(|set| set.is_overdue),
        }
    }

    fn render(&self, width: usize) -> String {
        let name = self.lever.name.as_str();
        let (mark, now) = match &self.reading {
            Ok(Reading {
                now,
                is_recommended,
            }) => (mark(*is_recommended), now.clone()),
            Err(obstacle) => {
                return hang(
                    &format!("- {name:<NAME_WIDTH$}"),
                    &obstacle.to_string(),
                    width,
                );
            }
        };
        let note = self.note();
        if matches!(self.obstacle, Some(Obstacle::Advice(_))) {
            return hang(&format!("{mark} {name:<NAME_WIDTH$}"), &now, width);
        }
        hang(
            &format!("{mark} {name:<NAME_WIDTH$}{now:<VALUE_WIDTH$} "),
            &note,
            width,
        )
    }

    /// What there is to say beside the value.
    fn note(&self) -> String {
        let recommended = match &self.reading {
            Ok(Reading {
                is_recommended: Some(false),
                ..
            }) => self
                .recommended
                .as_ref()
                .map(|value| format!("recommended {value}")),
            _ => None,
        };
        let set = self
            .set_in
            .map(|id| format!("set by Linerate (entry {id})"));
        let overdue = self.is_overdue.then(|| {
            let name = self.lever.name.as_str();
            format!(
                "its trial is over and it was not put back: {} undo {name}",
                by_whom()
            )
        });
        let obstacle = self.obstacle.as_ref().map(|why| match why {
            // How it is set then stands in `show`.
            Obstacle::AtStart { of, .. } => format!("of {of}: set when it is started"),
            _ => format!("not to be set here: {why}"),
        });
        let notes = [recommended, set, overdue, obstacle];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        notes.join("; ")
    }

    fn shape(&self) -> LeverNow {
        let reading = self.reading.as_ref();
        LeverNow {
            name: &self.lever.name,
            now: reading.ok().map(|reading| reading.now.clone()),
            unreadable: reading.err().map(ToString::to_string),
            recommended: self.recommended.clone(),
            is_recommended: reading.ok().and_then(|reading| reading.is_recommended),
            obstacle: self.obstacle.as_ref().map(ToString::to_string),
            set_in: self.set_in,
            is_overdue: self.is_overdue,
        }
    }
}

fn mark(is_recommended: Option<bool>) -> char {
    match is_recommended {
        Some(true) => '=',
        Some(false) => '!',
        None => '?',
    }
}

/// Words after a head, the following lines under the first word.
fn hang(head: &str, words: &str, width: usize) -> String {
    let indent = 2 + NAME_WIDTH;
    let lines = wrap(words, width.saturating_sub(head.chars().count()).max(30));
    let between = format!("\n{}", " ".repeat(indent.max(head.chars().count())));
    format!("{head}{}", lines.join(&between))
        .trim_end()
        .to_owned()
}
