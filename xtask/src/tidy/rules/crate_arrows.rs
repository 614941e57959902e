//! Which crate uses which, as cargo sees it and as the map says.

use super::table::{self, MAP, Row};
use crate::tidy::Rule;
use crate::tidy::tree::{Member, Tree, Violation};

pub(super) const RULE: Rule = Rule {
    name: "crate-arrows",
    says: "Each crate uses exactly the crates that the table of ARCHITECTURE.md gives it.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let rows = table::rows(tree);
    let row_of = |member: &Member| {
        let below = format!("crates/{}", member.name);
        rows.get(&below).or_else(|| rows.get(&member.name))
    };
    tree.members
        .iter()
        .flat_map(|member| match row_of(member) {
            Some(row) => differences(member, row),
            None => vec![Violation::new(
                MAP,
                0,
                format!("`{}` has no row in the table of crates", member.name),
                "say there what it is, what it is not, and what it uses",
            )],
        })
        .collect()
}

fn differences(member: &Member, row: &Row) -> Vec<Violation> {
    let name = &member.name;
    let too_many = member.uses.iter().filter(|used| !row.uses.contains(used));
    let too_many = too_many.map(|used| {
        Violation::new(
            MAP,
            row.line,
            format!("`{name}` uses `{used}`, which its row does not give it"),
            "do without, or change the map with the reason in the commit",
        )
    });
    let gone = row.uses.iter().filter(|given| !member.uses.contains(given));
    let gone = gone.map(|given| {
        Violation::new(
            MAP,
            row.line,
            format!("`{name}` no longer uses `{given}`"),
            "take it off the map",
        )
    });
    too_many.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said_of;

    const TABLE: &str = "| crate | is | uses |\n|---|---|---|\n| `crates/wire` | bytes | |\n\
                         | `linerate` | commands | `wire`, `study` |\n";

    fn tree(uses: &[&str]) -> Tree {
        let member = |name: &str, uses: &[&str]| Member {
            name: name.to_owned(),
            uses: uses.iter().map(ToString::to_string).collect(),
            packages: 0,
        };
        let mut tree = Tree::of([(MAP, TABLE)]).unwrap();
        tree.members = vec![member("wire", &[]), member("linerate", uses)];
        tree
    }

    #[test]
    fn an_arrow_too_many_and_one_too_few_are_both_named() {
        let said = said_of(&RULE, &tree(&["wire", "judge"]));
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("`linerate` uses `judge`"));
        assert!(said[1].contains("no longer uses `study`"));
    }

    #[test]
    fn arrows_as_on_the_map_are_well_and_a_crate_off_the_map_is_not() {
        let mut tree = tree(&["study", "wire"]);
        assert!(said_of(&RULE, &tree).is_empty());
        tree.members[0].name = "new".to_owned();
        assert!(said_of(&RULE, &tree)[0].contains("`new` has no row"));
    }
}
