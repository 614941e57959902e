//! `linerate levers list` and `show`: what a lever says of itself.

use machine::levers::{self, Group, Lever, Plan, Site};
use model::Binds;
use report::text::wrap;
use serde_json::{Value, json};

use super::FORMAT;
use crate::console::Console;

/// Columns of a lever's name.
pub(super) const NAME_WIDTH: usize = 26;

pub(super) fn list(as_json: bool, console: &Console) {
    if as_json {
        let levers: Vec<Value> = levers::all().map(as_value).collect();
        console.say(&format!(
            "{:#}",
            json!({ "format": FORMAT, "levers": levers })
        ));
        return;
    }
    for (group, levers) in by_group(levers::all()) {
        console.say(&format!("\n{}", group.title()));
        for card in levers.iter().map(|lever| lever.card()) {
            let (name, scope, worst) = (card.name, card.scope.word(), card.worst.word());
            console.say(&format!(
                "  {name:<NAME_WIDTH$}{scope:<11}{worst:<12}{}",
                card.title
            ));
        }
    }
}

/// In the order of the groups, each with its levers in their own order.
pub(super) fn by_group(
    levers: impl Iterator<Item = &'static dyn Lever>,
) -> Vec<(Group, Vec<&'static dyn Lever>)> {
    let mut levers: Vec<_> = levers.collect();
    levers.sort_by_key(|lever| lever.card().group);
    let groups = levers.chunk_by(|one, next| one.card().group == next.card().group);
    groups
        .map(|levers| (levers[0].card().group, levers.to_vec()))
        .collect()
}

fn as_value(lever: &dyn Lever) -> Value {
    let card = lever.card();
    json!({
        "name": card.name,
        "title": card.title,
        "group": card.group,
        "scope": card.scope,
        "binds": card.binds,
        "worst_case": { "harm": card.worst.word(), "how": card.worst.how() },
        "is_on_trial": lever.is_on_trial(),
        "about": card.about,
        "helps": card.helps,
        "hurts": card.hurts,
        "published": card.published,
        "values": lever.values(),
        "sets": lever.sets(),
        "tested_in": levers::tested_in(card.name),
    })
}

pub(super) fn show(lever: &dyn Lever, site: &Site, as_json: bool, console: &Console) {
    if as_json {
        return console.say(&format!("{:#}", shown_value(lever, site)));
    }
    let card = lever.card();
    let width = console.width().min(100);
    console.say(&format!("{}: {}", card.name, card.title));
    let now = lever
        .read(site)
        .map_or_else(|why| why.to_string(), |reading| reading.now);
    let recommended = lever
        .recommended(site)
        .unwrap_or_else(|| "depends".to_owned());
    let tested = levers::tested_words(card.name);
    let parts = [
        ("does", card.about),
        ("helps", card.helps),
        ("hurts", card.hurts),
        (
            "published",
            card.published.unwrap_or("no figure that we know of"),
        ),
        ("scope", card.scope.word()),
        ("binds", binds(card.binds)),
        ("at worst", &worst_case(lever)),
        ("values", &lever.values()),
        ("tested", &tested),
        ("now", &now),
        ("recommended", &recommended),
    ];
    for (label, words) in parts {
        console.say(&labelled(label, words, width));
    }
    if let Some(command) = lever.by_hand() {
        console.say(&labelled("by hand", command, width));
    }
    match lever.plan(site, None) {
        Ok(plan) => commands(&plan, console),
        Err(obstacle) => console.say(&labelled("to set it", &obstacle.to_string(), width)),
    }
}

fn shown_value(lever: &dyn Lever, site: &Site) -> Value {
    let (reading, plan) = (lever.read(site), lever.plan(site, None));
    let typed = |plan: &Plan| json!({ "set": plan.commands(), "put_back": plan.undo_commands() });
    json!({
        "format": FORMAT,
        "lever": as_value(lever),
        "now": reading.as_ref().ok().map(|reading| &reading.now),
        "unreadable": reading.as_ref().err().map(ToString::to_string),
        "recommended": lever.recommended(site),
        "by_hand": lever.by_hand(),
        "commands": plan.as_ref().ok().map(typed),
        "obstacle": plan.as_ref().err().map(ToString::to_string),
    })
}

/// What would be typed, to set and to put back; nothing where all is as recommended.
pub(super) fn commands(plan: &Plan, console: &Console) {
    if plan.steps.is_empty() {
        return console.say("  to set it    nothing: it is so already");
    }
    console.say("  to set it");
    plan.commands()
        .iter()
        .for_each(|line| console.say(&format!("    {line}")));
    console.say("  to put it back");
    plan.undo_commands()
        .iter()
        .for_each(|line| console.say(&format!("    {line}")));
}

fn labelled(label: &str, words: &str, width: usize) -> String {
    let lines = wrap(words, width.saturating_sub(15));
    format!("  {label:<13}{}", lines.join("\n               "))
}

/// The harm, how it comes, and whether it goes back by itself before that is for good.
pub(super) fn worst_case(lever: &dyn Lever) -> String {
    let worst = lever.card().worst;
    let trial = if lever.is_on_trial() {
        "; on trial: put back after 60 seconds unless confirmed"
    } else {
        ""
    };
    format!("{}: {}{trial}", worst.word(), worst.how())
}

pub(super) fn binds(binds: Binds) -> &'static str {
    match binds {
        Binds::Live => "at once",
        Binds::Connect => "for connections made afterwards",
        Binds::Listen => "for sockets that listen, or devices that come up, afterwards",
        Binds::Fork => "for processes started afterwards",
        Binds::Boot => "after a reboot",
    }
}
