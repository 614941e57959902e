//! The most that each resource lets through, for readers.

use model::ceiling::ArmCeilings;
use model::explanation::ResourceBound;

use crate::numbers;
use crate::view::{Column, Item, Page, Row, Shown, Table};

const TITLE: &str = "What each resource lets through at most, if nothing else is in the way";

const NOTE: &str = "A ceiling is what there is of a resource, divided by what each unit of work takes of it now; where none is \
     near, the limit is a wait.";

/// Says which ceiling is nearest, and which is next.
pub(crate) fn nearest(bounds: &[ResourceBound]) -> Option<String> {
    let first = bounds.first()?;
    let next = bounds.get(1).map(|it| format!("; next: {}", bound(it)));
    Some(format!(
        "The nearest ceiling: {}, of which {} is reached{}.",
        bound(first),
        numbers::share(first.reached),
        next.unwrap_or_default()
    ))
}

fn bound(bound: &ResourceBound) -> String {
    let each = match &bound.rate_unit {
        None => "an answer",
        Some(_) => "each",
    };
    format!(
        "{}, at {} {each}: {}",
        bound.what,
        demand(bound),
        match &bound.rate_unit {
            None => format!("{} a second", numbers::rate(bound.most_rps)),
            Some(unit) => format!("{} {unit}", numbers::three_digits(bound.most_rps)),
        }
    )
}

fn demand(bound: &ResourceBound) -> String {
    format!("{} {}", numbers::three_digits(bound.demand), bound.unit)
}

/// Adds the section of one program.
pub(crate) fn add_to(page: &mut Page, bounds: &[ResourceBound]) {
    if bounds.is_empty() {
        return;
    }
    page.section("ceilings", "Ceilings");
    let rows = bounds.iter().map(|it| row(it, it.what.clone()));
    page.table(Table::new(TITLE, columns("answer", bounds), rows.collect()));
}

/// Adds the section of several arms: the nearest ceiling of each, and in a browser all ceilings.
/// `each` names what is counted where a bound has no unit of its own; `title` returns the title of
/// an arm.
pub(crate) fn add_arms_to(
    page: &mut Page,
    arms: &[ArmCeilings],
    each: &str,
    title: impl Fn(&str) -> String,
) {
    let Some(bounds) = arms.first().map(|arm| &arm.bounds[..]) else {
        return;
    };
    page.section("ceilings", "Ceilings");
    page.add(Item::Table(shares(arms, each, &title)));
    page.add(Item::Note(NOTE.to_owned()));
    let of_arm = |arm: &ArmCeilings| {
        let bounds = arm.bounds.iter().map(|it| row(it, it.what.clone()));
        let heading = Row::heading(title(&arm.arm));
        std::iter::once(heading).chain(bounds).collect::<Vec<Row>>()
    };
    let rows = arms.iter().flat_map(of_arm).collect();
    let table = Table::new(TITLE, columns(each, bounds), rows);
    page.add_to_browser(Item::Table(table));
}

/// Lists the nearest ceiling of each arm, and the share that it reaches of each resource's ceiling.
fn shares(arms: &[ArmCeilings], each: &str, title: impl Fn(&str) -> String) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for bound in arms.iter().flat_map(|arm| &arm.bounds) {
        if !names.contains(&bound.name.as_str()) {
            names.push(&bound.name);
        }
    }
    let share = |arm: &ArmCeilings, name: &str| {
        let bound = arm.bounds.iter().find(|it| it.name == name);
        bound.map_or_else(String::new, |it| numbers::share(it.reached))
    };
    let row = |arm: &ArmCeilings| {
        let nearest = arm.bounds.first()?;
        let first = [title(&arm.arm), nearest.name.clone(), most(nearest)];
        let shares = names.iter().map(|name| share(arm, name));
        let cells = first.into_iter().chain(shares);
        Some(Row::of(cells.map(Shown::text).collect()))
    };
    let bound = arms.iter().flat_map(|arm| &arm.bounds).next();
    let mut columns = vec![
        Column::words("reached of each ceiling"),
        Column::words("nearest"),
        Column::figures(at_most(each, bound)),
    ];
    columns.extend(names.iter().copied().map(Column::figures));
    let rows = arms.iter().filter_map(row).collect();
    Table::new("The share of each ceiling that is reached", columns, rows)
}

fn most(bound: &ResourceBound) -> String {
    match bound.rate_unit {
        None => numbers::rate(bound.most_rps),
        Some(_) => numbers::three_digits(bound.most_rps),
    }
}

fn columns(each: &str, bounds: &[ResourceBound]) -> Vec<Column> {
    let bound = bounds.first();
    let unit = bound.and_then(|it| it.rate_unit.as_deref());
    vec![
        Column::words("resource"),
        Column::figures(format!("for each {}", unit.unwrap_or(each))),
        Column::figures(at_most(each, bound)),
        Column::figures("reached"),
    ]
}

fn at_most(each: &str, bound: Option<&ResourceBound>) -> String {
    match bound.and_then(|it| it.rate_unit.as_deref()) {
        None => format!("{each}s/s at most"),
        Some(unit) => format!("{unit} at most"),
    }
}

fn row(it: &ResourceBound, first: String) -> Row {
    let cells = [first, demand(it), most(it), numbers::share(it.reached)];
    Row::of(cells.into_iter().map(Shown::text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn bound(name: &str, most_rps: f64, reached: f64) -> ResourceBound {
        ResourceBound {
            name: name.to_owned(),
            what: format!("all {name}"),
            demand: 8.0,
            unit: "µs".to_owned(),
            most_rps,
            reached,
            rate_unit: None,
        }
    }

    #[test]
    fn each_arm_has_a_row_with_its_nearest_ceiling_and_what_is_reached_of_all() {
        let arm = |name: &str, bounds| ArmCeilings {
            arm: name.to_owned(),
            bounds,
        };
        let arms = [
            arm(
                "a",
                vec![bound("cpus", 1e5, 0.9), bound("memory", 1e6, 0.09)],
            ),
            arm("b", vec![bound("memory", 1e6, 0.5)]),
        ];
        let mut page = Page::default();
        add_arms_to(&mut page, &arms, "answer", str::to_owned);
        let page = text::laid_out(page, 100, false);
        assert!(page.contains("answers/s"), "{page}");
        for row in [
            ["a", "cpus", "100,000", "90 %", "9.0 %"].as_slice(),
            &["b", "memory", "1,000,000", "50 %"],
        ] {
            let words = row.join(" ");
            let is_row =
                |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") == words;
            assert!(page.lines().any(is_row), "{words} in\n{page}");
        }
    }

    #[test]
    fn ceilings_of_commands_are_counted_in_their_runs() {
        let arm = ArmCeilings {
            arm: "a".to_owned(),
            bounds: vec![bound("cpus", 1e5, 0.9)],
        };
        let mut page = Page::default();
        add_arms_to(&mut page, &[arm], "run", str::to_owned);
        let page = text::laid_out(page, 100, false);
        assert!(
            page.contains("runs/s") && !page.contains("answer"),
            "{page}"
        );
    }

    #[test]
    fn the_nearest_is_told_with_what_is_taken_of_it_and_the_next() {
        let bounds = [bound("cpus", 1e5, 0.9), bound("memory", 1e6, 0.09)];
        let told = nearest(&bounds).unwrap();
        assert!(
            told.starts_with("The nearest ceiling: all cpus, at 8.00 µs an answer: 100,000 a second, of which 90 %"),
            "{told}"
        );
        assert_eq!(nearest(&[]), None);
    }
}
