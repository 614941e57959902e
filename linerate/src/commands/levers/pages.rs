//! The pages of `docs/levers`: made of the declarations, with what a person adds kept below.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use machine::levers::{self, Lever};

use super::catalogue::{binds, by_group, worst_case};

/// What is below is left as it is.
const BY_HAND: &str = "<!-- Above: from the declaration. Below: by hand. -->\n";
const INDEX: &str = "README.md";

/// Writes a page for each lever and the list of them.
pub(super) fn write(folder: &Path) -> anyhow::Result<()> {
    for lever in levers::all() {
        write_page(
            &folder.join(format!("{}.md", lever.card().name)),
            &page(lever),
        )?;
    }
    write_page(&folder.join(INDEX), &index())
}

fn write_page(path: &Path, made: &str) -> anyhow::Result<()> {
    let by_hand = match fs::read_to_string(path) {
        Ok(text) => text.split_once(BY_HAND).map(|(_, below)| below.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let text = format!("{made}\n{BY_HAND}{}", by_hand.unwrap_or_default());
    fs::write(path, text).with_context(|| path.display().to_string())
}

fn page(lever: &dyn Lever) -> String {
    let card = lever.card();
    let sets: Vec<String> = lever
        .sets()
        .iter()
        .map(|knob| format!("`{knob}`"))
        .collect();
    let rows = [
        (
            "sets",
            if sets.is_empty() {
                "nothing: it is told".to_owned()
            } else {
                sets.join(", ")
            },
        ),
        ("values", lever.values()),
        ("scope", card.scope.word().to_owned()),
        ("binds", binds(card.binds).to_owned()),
        ("worst case", worst_case(lever)),
        ("tested", levers::tested_words(card.name)),
    ];
    let rows = rows
        .map(|(label, words)| format!("| {label} | {words} |"))
        .join("\n");
    format!(
        "# `{}`: {}\n\n{}\n\n| | |\n|---|---|\n{rows}\n\n\
         **Helps:** {}.\n\n**May hurt:** {}.\n\n**Published:** {}.\n\n\
         {}\n",
        card.name,
        card.title,
        card.about,
        card.helps,
        card.hurts,
        card.published.unwrap_or("no figure that we know of"),
        commands(lever),
    )
}

fn commands(lever: &dyn Lever) -> String {
    let name = lever.card().name;
    match lever.by_hand() {
        None => format!(
            "`linerate levers show {name}` prints the commands that a person would type on your \
             machine."
        ),
        Some(command) => format!("By hand:\n\n    {command}"),
    }
}

fn index() -> String {
    let mut text = "# Levers\n".to_owned();
    for (group, levers) in by_group(levers::all()) {
        text += &format!(
            "\n## {}\n\n| lever | what it sets | scope | worst case |\n|---|---|---|---|\n",
            group.title()
        );
        for card in levers.iter().map(|lever| lever.card()) {
            let (name, scope, worst) = (card.name, card.scope.word(), card.worst.word());
            text += &format!(
                "| [`{name}`]({name}.md) | {} | {scope} | {worst} |\n",
                card.title
            );
        }
    }
    text
}
