//! `docs/levers/README.md`: all that the rows of the levers say, by subject.

use machine::levers::{self, Lever};

use super::catalogue::{binds, by_group, published, worst_case};

const HEAD: &str = "\
# Levers

Made of `crates/machine/levers` by the hidden command `levers page`.
`linerate levers show NAME` has the same of one lever, with what it is set to on your machine and, where it is
set by commands, those that a person would type there.
";

pub(super) fn of_all() -> String {
    let mut page = HEAD.to_owned();
    let groups = by_group(levers::all());
    for (group, levers) in &groups {
        page += &format!(
            "\n## {}\n\n| lever | what it sets | scope | worst case |\n|---|---|---|---|\n",
            group.title()
        );
        page.extend(levers.iter().map(|lever| line(lever)));
    }
    let sections = groups.into_iter().flat_map(|(_, levers)| levers);
    page.extend(sections.map(section));
    page.trim_end().to_owned()
}

fn line(lever: &Lever) -> String {
    let (name, scope, worst) = (&lever.name, lever.scope.word(), lever.worst.word());
    format!(
        "| [`{name}`](#{name}) | {} | {scope} | {worst} |\n",
        lever.title
    )
}

fn section(lever: &Lever) -> String {
    let sets: Vec<String> = lever
        .sets()
        .iter()
        .map(|knob| format!("`{knob}`"))
        .collect();
    let sets = match sets.as_slice() {
        [] => "nothing: it is told".to_owned(),
        sets => sets.join(", "),
    };
    let found = lever.finding.as_ref().map_or_else(String::new, |costs| {
        format!(
            "**Where `linerate doctor` finds it:** {}. Advice: {}.\n\n",
            costs.cost, costs.advice
        )
    });
    let by_hand = lever.by_hand().map_or_else(String::new, |command| {
        format!("By hand:\n\n    {command}\n\n")
    });
    format!(
        "\n## {}\n\n**{}**\n\n{}\n\n\
         | | |\n|---|---|\n| sets | {sets} |\n| values | {} |\n| scope | {} |\n| binds | {} |\n\
         | worst case | {} |\n| tested | {} |\n\n\
         **Helps:** {}.\n\n**May hurt:** {}.\n\n**Published:** {}.\n\n{found}{by_hand}{}",
        lever.name,
        lever.title,
        lever.about,
        lever.values(),
        lever.scope.word(),
        binds(lever.binds),
        worst_case(lever),
        lever.tested_words(),
        lever.helps,
        lever.hurts,
        published(lever),
        lever.notes,
    )
}
