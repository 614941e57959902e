//! `linerate levers status`: each lever on this machine.

use machine::levers::carry::{self, Standing};
use machine::levers::{self, DeviceName, Group, Lever, Obstacle, Site};
use minijinja::context;
use minijinja::value::{Serde, Value};
use schemars::JsonSchema;
use serde::Serialize;

use super::catalogue::by_group;
use super::{by_whom, find};
use crate::console::Console;
use crate::shape;
use crate::told::{self, template};

/// Show what each lever is set to, what is recommended, and whether it can be set here
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  linerate levers status
  linerate levers status congestion-control accept-queue
  Levers that are not as recommended, for a script:
    linerate levers status --json | jq -r '.levers[] | select(.is_recommended == false).name'

It changes nothing and needs no rights. In front of each lever: `=` it is as recommended, `!` it is
not, `?` what is right depends on what the machine is for, `-` this machine does not have it.")]
pub(super) struct Arguments {
    /// The levers [default: all]
    levers: Vec<String>,
    /// The network device [default: that of the default route]
    #[arg(long)]
    device: Option<DeviceName>,
    /// Print it as one JSON value (docs/schema/levers-status.json)
    #[arg(long)]
    json: bool,
}

/// Levers on this machine.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeversStatus {
    /// One entry for each lever that was asked for.
    levers: Vec<LeverNow>,
    /// Why the journal, or the first bad line of it, cannot be read, so that a set_in may be
    /// unknown; null where all of it can be read.
    journal_unreadable: Option<String>,
}

/// A lever on this machine.
#[derive(Serialize, JsonSchema)]
struct LeverNow {
    /// Name of the lever, as it is typed.
    name: &'static str,
    /// Its present value in readable form, which knobs with the same value share; null where it
    /// cannot be read.
    now: Option<String>,
    /// Why it cannot be read; null where it can.
    unreadable: Option<String>,
    /// Value that is set when none is given; null where that depends on what the machine is for.
    recommended: Option<String>,
    /// Whether it has the recommended value; null where none is recommended.
    is_recommended: Option<bool>,
    /// Why it cannot be set here, with the errno; null where it can.
    obstacle: Option<String>,
    /// Entry of the journal in which we have set it for this network namespace; null where we
    /// have not.
    set_in: Option<u64>,
    /// Whether it should have been put back automatically by now, and was not.
    is_overdue: bool,
}

/// Row of a lever on the page.
#[derive(Serialize)]
struct LeverRow {
    #[serde(flatten)]
    shape: LeverNow,
    /// Whether it must be set by hand, which the page does not report as an obstacle.
    is_advice: bool,
    /// What takes it on when it starts; `show` says how it is set then.
    at_start_of: Option<&'static str>,
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
    let rows = |levers: Vec<&'static Lever>| -> Vec<LeverRow> {
        let row = |lever| look(lever, &site, &standing);
        levers.into_iter().map(row).collect()
    };
    if arguments.json {
        console.say(&shape::lines(LeversStatus {
            levers: rows(meant).into_iter().map(|row| row.shape).collect(),
            journal_unreadable: unknown,
        }));
        return Ok(());
    }
    let group = |(group, levers): (Group, Vec<&'static Lever>)| {
        context! { title => group.title(), levers => Serde(rows(levers)) }
    };
    let groups = by_group(meant.into_iter()).into_iter().map(group);
    let page = context! { groups => groups.collect::<Vec<Value>>(), by_whom => by_whom() };
    let page = told::page(&page, template!("levers-status"), console.width());
    console.say(&page);
    if let Some(why) = unknown {
        console.error(&format!(
            "not everything that Linerate has set is known: {why}"
        ));
    }
    Ok(())
}

fn look(lever: &'static Lever, site: &Site, standing: &[Standing]) -> LeverRow {
    let name = lever.name.as_str();
    let set = standing
        .iter()
        .find(|set| set.lever == name && !set.is_of_another_boot && set.is_here);
    let (reading, obstacle) = (lever.read(site), lever.may_set(site).err());
    let at_start_of = match &obstacle {
        Some(Obstacle::AtStart { of, .. }) => Some(*of),
        _ => None,
    };
    let shape = LeverNow {
        name,
        unreadable: reading.as_ref().err().map(ToString::to_string),
        is_recommended: reading.as_ref().ok().and_then(|it| it.is_recommended),
        now: reading.ok().map(|reading| reading.now),
        recommended: lever.recommended(site),
        obstacle: obstacle.as_ref().map(ToString::to_string),
        set_in: set.map(|set| set.entry),
        is_overdue: set.is_some_and(|set| set.is_overdue),
    };
    LeverRow {
        shape,
        is_advice: matches!(obstacle, Some(Obstacle::Advice(_))),
        at_start_of,
    }
}
