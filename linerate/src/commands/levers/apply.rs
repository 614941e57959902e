//! `linerate levers apply`: sets a lever.

use std::process::ExitCode;

use anyhow::Context as _;
use machine::levers::carry::{self, Applied, CarryError, Guard, Until};
use machine::levers::{DeviceName, Plan, Site, Step};
use schemars::JsonSchema;
use serde::Serialize;

use super::{LEFT_CHANGED, by_whom, find, overdue};
use crate::console::Console;
use crate::shape;
use crate::told::{self, template};

/// Set a lever, to the recommended or to a given value
///
/// The old value is on disk before the new one is set. The new value is read back; if it did not
/// take hold, or only in part, the old one is put back at once. What may lock you out is put back
/// automatically unless you confirm that you can still reach the machine; `show` says so in the
/// lever's worst case.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  sudo linerate levers apply slow-start-after-idle --dry-run
  sudo linerate levers apply notsent-lowat=131072
  What may lock you out, which is put back after 60 seconds unless it is confirmed:
    sudo linerate levers apply mtu=9000 --device eth1
    sudo linerate levers confirm mtu")]
pub(super) struct Arguments {
    /// Name of a lever, with `=VALUE` for another value than the recommended one
    #[arg(value_name = "NAME[=VALUE]")]
    lever: String,
    /// The network device [default: that of the default route]
    #[arg(long)]
    device: Option<DeviceName>,
    /// Show the commands that would set it by hand, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Seconds after which what may lock you out is put back unless it is confirmed
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    trial: u64,
    /// Print what was done as one JSON value (docs/schema/levers-apply.json)
    #[arg(long)]
    json: bool,
}

/// What was set, or would be set.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeversApply {
    /// Name of the lever, as it is typed.
    lever: &'static str,
    /// Its entry in the journal; null where nothing was changed: in a dry run, or where everything
    /// was set so already.
    entry: Option<u64>,
    /// The knobs that change, in the order in which they are set.
    steps: Vec<StepShape>,
    /// Commands that set it by hand.
    commands: Vec<String>,
    /// Commands that put it back by hand.
    undo_commands: Vec<String>,
    /// Seconds after which it is put back unless it is confirmed; null where it stays.
    reverts_after_s: Option<u64>,
}

/// A knob that is set.
#[derive(Serialize, JsonSchema)]
pub(super) struct StepShape {
    /// A sysctl by its name, or the path of a file.
    knob: String,
    /// What it held before.
    old: String,
    /// What it is set to.
    new: String,
}

pub(super) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let (name, value) = match arguments.lever.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (arguments.lever.as_str(), None),
    };
    let (lever, site) = (find(name)?, Site::here(arguments.device.clone()));
    if !arguments.dry_run {
        overdue::put_back(console)?;
    }
    let plan = lever.plan(&site, value)?;
    if arguments.dry_run || plan.steps.is_empty() {
        tell(&plan, None, arguments, console);
        return Ok(ExitCode::SUCCESS);
    }
    match carry_out(&plan, &site, arguments.trial) {
        Ok(applied) => tell(&plan, Some(&applied), arguments, console),
        Err(CarryError::LeftChanged(why)) => {
            let undo = format!(
                "{why}; not everything could be put back: {} undo",
                by_whom()
            );
            console.error(&undo);
            return Ok(ExitCode::from(LEFT_CHANGED));
        }
        Err(error @ CarryError::Unsettled(_)) => {
            console.error(&format!("{error}; to put it back: {} undo", by_whom()));
            return Ok(ExitCode::from(LEFT_CHANGED));
        }
        Err(error) => return Err(error).with_context(|| format!("{name} was not set")),
    }
    Ok(ExitCode::SUCCESS)
}

fn carry_out(plan: &Plan, site: &Site, trial_s: u64) -> Result<Applied, CarryError> {
    let until = match on_trial(plan) {
        true => Until::Confirmed(Guard {
            trial_ms: trial_s * 1000,
            start: &carry::start_guard,
        }),
        false => Until::Undone,
    };
    carry::apply(plan, site, &until)
}

/// Whether a plan could lock us out. A change of a namespace inside a rig of ours cannot.
fn on_trial(plan: &Plan) -> bool {
    plan.is_on_trial && !(machine::rig::is_inside() && plan.is_of_a_namespace())
}

fn tell(plan: &Plan, applied: Option<&Applied>, arguments: &Arguments, console: &Console) {
    let reverts_after_s = applied.filter(|_| on_trial(plan)).map(|_| arguments.trial);
    let steps = applied.map_or(&plan.steps, |applied| &applied.steps);
    let result = LeversApply {
        lever: plan.lever,
        entry: applied.map(|applied| applied.id),
        steps: steps.iter().map(shape_of).collect(),
        commands: plan.commands(),
        undo_commands: plan.undo_commands(),
        reverts_after_s,
    };
    if arguments.json {
        return console.say(&shape::lines(result));
    }
    if plan.steps.is_empty() {
        return console.say(&format!(
            "{} is set so already; nothing was changed",
            plan.lever
        ));
    }
    if applied.is_none() {
        let commands = template!("levers-commands");
        return console.say(&told::page(&result, commands, console.width()));
    }
    let changed = |(step, _): &(&Step, &Step)| step.old != step.new;
    for (step, asked) in steps.iter().zip(&plan.steps).filter(changed) {
        console.say(&line(step, asked));
    }
    match reverts_after_s {
        Some(seconds) => console.say(&format!(
            "put back in {seconds} s unless you run: {} confirm {}",
            by_whom(),
            plan.lever
        )),
        None => console.say(&format!(
            "to put it back: {} undo {}",
            by_whom(),
            plan.lever
        )),
    }
}

/// Describes a step as it was carried out, and what was asked for where the driver set another
/// value.
fn line(step: &Step, asked: &Step) -> String {
    let Step { knob, old, new, .. } = step;
    let rounded = match (step.follows, new == &asked.new) {
        (true, _) => " (the kernel changed it as well)".to_owned(),
        (false, true) => String::new(),
        (false, false) => format!(" (the driver set this for {})", knob.show(&asked.new)),
    };
    format!("{knob}: {} → {}{rounded}", knob.show(old), knob.show(new))
}

fn shape_of(step: &Step) -> StepShape {
    StepShape {
        knob: step.knob.to_string(),
        old: step.knob.show(&step.old),
        new: step.knob.show(&step.new),
    }
}
