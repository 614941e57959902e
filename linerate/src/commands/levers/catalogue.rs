//! `linerate levers list` and `show`: the known levers and what is known about each.

use machine::levers::{self, Group, Lever, Plan, Scope, Site, TestBench};
use minijinja::context;
use minijinja::value::{Serde, Value};
use model::Binds;
use schemars::JsonSchema;
use serde::Serialize;

use crate::console::Console;
use crate::shape;
use crate::told::{self, template};

/// Columns of a lever's name.
const NAME_WIDTH: usize = 26;

/// The known levers.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeversList {
    /// One entry for each known lever.
    levers: Vec<LeverShape>,
}

/// Description of a lever, the same on every machine.
#[derive(Serialize, JsonSchema)]
struct LeverShape {
    /// Name as it is typed: lower-case words joined by hyphens.
    name: &'static str,
    /// What it sets, in a few words.
    title: &'static str,
    /// The subject it belongs to.
    group: Group,
    /// How far a change reaches.
    scope: Scope,
    /// What must be redone before a change takes hold.
    binds: Binds,
    /// The worst that any of its values may do.
    worst_case: WorstCase,
    /// Whether a change is put back automatically unless it is confirmed.
    is_on_trial: bool,
    /// What the kernel does with it.
    about: &'static str,
    /// The workloads that gain.
    helps: &'static str,
    /// What may be lost.
    hurts: &'static str,
    /// A published gain, with the source; null where we know of none.
    published: Option<&'static str>,
    /// The values that it accepts, in words.
    values: String,
    /// Sysctls and files that it sets, with DEVICE and N for what a machine has several of;
    /// empty for a lever that is only shown and never set.
    sets: Vec<String>,
    /// Where tests of this version set it, check it and put it back; empty for levers that are only
    /// shown and never set.
    tested_in: &'static [TestBench],
    /// Where it is tested, in words, or why no test sets it.
    tested: String,
}

/// The worst that a value may do.
#[derive(Serialize, JsonSchema)]
struct WorstCase {
    /// Its kind: none, slower, failures, memory, access or protection.
    harm: &'static str,
    /// How the harm comes about.
    how: &'static str,
}

/// One lever on this machine.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeversShow {
    /// Description of the lever.
    lever: LeverShape,
    /// Its present value in readable form; null where it cannot be read.
    now: Option<String>,
    /// Why it cannot be read; null where it can.
    unreadable: Option<String>,
    /// Value that is set when none is given; null where that depends on what the machine is for.
    recommended: Option<String>,
    /// How to set it by hand, where that is not one command for each knob; null elsewhere.
    by_hand: Option<&'static str>,
    /// Shell commands that set it by hand; null where there is an obstacle.
    commands: Option<Commands>,
    /// Why nothing can be set when no value is given; null where something can.
    obstacle: Option<String>,
}

/// Shell commands that set a lever by hand and put it back.
#[derive(Serialize, JsonSchema)]
struct Commands {
    /// Lines that set the recommended value; empty where it is set already.
    set: Vec<String>,
    /// Lines that put back the present value.
    put_back: Vec<String>,
}

pub(super) fn list(as_json: bool, console: &Console) {
    if as_json {
        let levers = levers::all().map(shape_of).collect();
        return console.say(&shape::lines(LeversList { levers }));
    }
    for (group, levers) in by_group(levers::all()) {
        console.say(&format!("\n{}", group.title()));
        for lever in levers {
            let (name, scope, worst) = (&lever.name, lever.scope, lever.worst.word());
            console.say(&format!(
                "  {name:<NAME_WIDTH$}{scope:<11}{worst:<12}{}",
                lever.title
            ));
        }
    }
}

/// Groups the levers, in the order of the groups; within a group they keep their order.
pub(super) fn by_group(
    levers: impl Iterator<Item = &'static Lever>,
) -> Vec<(Group, Vec<&'static Lever>)> {
    let mut levers: Vec<_> = levers.collect();
    levers.sort_by_key(|lever| lever.group);
    let groups = levers.chunk_by(|one, next| one.group == next.group);
    groups
        .map(|levers| (levers[0].group, levers.to_vec()))
        .collect()
}

fn shape_of(lever: &'static Lever) -> LeverShape {
    LeverShape {
        name: &lever.name,
        title: &lever.title,
        group: lever.group,
        scope: lever.scope,
        binds: lever.binds,
        worst_case: WorstCase {
            harm: lever.worst.word(),
            how: lever.worst.how(),
        },
        is_on_trial: lever.is_on_trial(),
        about: &lever.about,
        helps: &lever.helps,
        hurts: &lever.hurts,
        published: lever.published.as_deref(),
        values: lever.values(),
        sets: lever.sets(),
        tested_in: &lever.tested_in,
        tested: lever.tested_words(),
    }
}

pub(super) fn show(lever: &'static Lever, site: &Site, as_json: bool, console: &Console) {
    let shown = shown(lever, site);
    console.say(&match as_json {
        true => shape::lines(shown),
        false => told::page(&shown, template!("levers-show"), console.width().min(100)),
    });
}

fn shown(lever: &'static Lever, site: &Site) -> LeversShow {
    let (reading, plan) = (lever.read(site), lever.plan(site, None));
    let typed = |plan: &Plan| Commands {
        set: plan.commands(),
        put_back: plan.undo_commands(),
    };
    LeversShow {
        lever: shape_of(lever),
        now: reading.as_ref().ok().map(|reading| reading.now.clone()),
        unreadable: reading.as_ref().err().map(ToString::to_string),
        recommended: lever.recommended(site),
        by_hand: lever.by_hand(),
        commands: plan.as_ref().ok().map(typed),
        obstacle: plan.as_ref().err().map(ToString::to_string),
    }
}

/// Prints everything in the catalogue, by subject: the page `docs/levers/README.md`.
pub(super) fn page(console: &Console) {
    let lever = |lever: &'static Lever| {
        context! {
            finding => Serde(&lever.finding),
            by_hand => lever.by_hand(),
            notes => &lever.notes,
            ..Serde(shape_of(lever))
        }
    };
    let group = |(group, levers): (Group, Vec<&'static Lever>)| {
        let levers: Vec<Value> = levers.into_iter().map(lever).collect();
        context! { title => group.title(), levers }
    };
    let groups: Vec<Value> = by_group(levers::all()).into_iter().map(group).collect();
    let page = context! { groups };
    console.say(&told::page(
        &page,
        template!("levers-page"),
        console.width(),
    ));
}
