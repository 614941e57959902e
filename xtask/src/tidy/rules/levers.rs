//! Whoever offers to set something has seen it put back: each lever has its test, and its page says where.

use std::collections::BTreeSet;

use crate::tidy::Rule;
use crate::tidy::tree::{Tree, Violation};

const PAGES: &str = "docs/levers/";
/// Set the levers of a guest, by lists.
const SCRIPTS: [&str; 4] = [
    SCRIPT,
    "xtask/src/vm/proofs/audit.sh",
    "xtask/src/vm/proofs/ktls.sh",
    "xtask/src/vm/proofs/shares.sh",
];
const SCRIPT: &str = "xtask/src/vm/proofs/levers.sh";
const LISTS: [&str; 5] = [
    "asked=\"",
    "by_hand=\"",
    "of_card=\"",
    "of_program=\"",
    "of_server=\"",
];
/// What a page says of a lever that is told and never set.
const NOTHING: &str = "nothing: it is told";
/// What it says of one that is in no test; the reason is behind a colon where it could be set.
const NEVER: &str = "never applied in a test";
const IN_A_GUEST: &str = "in a virtual machine";
/// What it says of one that is told, and that a person would set so, or that a machine was started with.
const BY_HAND: &str = "by hand in a virtual machine";
const OVER_A_REBOOT: &str = "over a reboot of an emulated machine";
const TABLE: &str = "crates/machine/src/levers/tested.rs";

/// They start programs with levers, which they name.
const PROGRAMS: [&str; 2] = [
    "linerate/tests/levers/programs.rs",
    "linerate/tests/levers/allocator.rs",
];
const WITH_A_PROGRAM: &str = "with a program";

/// Where a test takes all of one bench from, by what it asks of `linerate levers list`, or by the table.
const BENCHES: [(&str, &str, &str); 5] = [
    (
        OVER_A_REBOOT,
        "xtask/src/prove/two_boots.rs",
        "const OPTION: &str = \"mitigations=off\"",
    ),
    (
        "here, in a network namespace",
        "linerate/tests/levers/each.rs",
        "is_tested(lever, \"here\")",
    ),
    (
        "on planted files alone",
        "crates/machine/src/levers/carry/tests/planted.rs",
        "tested::PLANTED",
    ),
    (
        "with our own server",
        "linerate/tests/serve/sockets.rs",
        "is_tested(lever, \"server\")",
    ),
    (
        "with `linerate datagrams`",
        "linerate/tests/link/datagrams.rs",
        "is_tested(lever, \"datagrams\")",
    ),
];

pub(super) const RULE: Rule = Rule {
    name: "lever-tests",
    says: "Each lever that can be set is set and put back in a test, and its page says in which.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let names = tree.below(PAGES, |file| file.strip_suffix(".md"));
    let pages: Vec<Page<'_>> = names
        .into_iter()
        .filter_map(|name| Page::of(tree, name))
        .collect();
    let mut violations: Vec<Violation> = pages.iter().filter_map(untested).collect();
    violations.extend(against_the_script(tree, &pages));
    violations.extend(not_with_a_program(tree, &pages));
    let without = BENCHES.iter().filter(|(words, path, call)| {
        let is_claimed = pages.iter().any(|page| page.tested.contains(words));
        is_claimed
            && !tree
                .sources
                .get(*path)
                .is_some_and(|source| source.text.contains(call))
    });
    violations.extend(without.map(|(words, path, call)| {
        let what = format!("pages say `{words}`, and nothing takes its levers by `{call}`");
        Violation::new(
            path,
            0,
            what,
            "set and put back each lever that the table names",
        )
    }));
    violations
}

/// What a page says of its lever.
struct Page<'t> {
    name: &'t str,
    sets: &'t str,
    tested: &'t str,
}

impl<'t> Page<'t> {
    /// `None` for one that is no lever's.
    fn of(tree: &'t Tree, name: &'t str) -> Option<Self> {
        let text = tree.texts.get(&format!("{PAGES}{name}.md"))?;
        let row = |label: &str| {
            let rest = |line: &'t str| {
                line.strip_prefix("| ")?
                    .strip_prefix(label)?
                    .strip_prefix(" | ")
            };
            Some(text.lines().find_map(rest)?.trim_end_matches(" |"))
        };
        Some(Self {
            name,
            sets: row("sets")?,
            tested: row("tested").unwrap_or(NEVER),
        })
    }

    fn path(&self) -> String {
        format!("{PAGES}{}.md", self.name)
    }
}

/// A lever that is set and in no test, or told and said to be in one.
fn untested(page: &Page<'_>) -> Option<Violation> {
    let (what, advice) = match (page.sets == NOTHING, page.tested == NEVER) {
        (false, true) => (
            "it can be set, and no test sets it and puts it back",
            "have a test do so, and say in which in the table",
        ),
        (true, false) if !is_only_told(page) => (
            "it is told and never set, and said to be in a test",
            "take it out of the table",
        ),
        _ => return None,
    };
    let advice = format!("{advice} of {TABLE}");
    Some(Violation::new(&page.path(), 0, what, advice))
}

/// Whether it is said that no test sets it, or only by hand or a reboot.
fn is_only_told(page: &Page<'_>) -> bool {
    let by_others = [BY_HAND, OVER_A_REBOOT];
    page.tested.starts_with(NEVER) || by_others.iter().any(|words| page.tested.contains(words))
}

/// What no program is started with, and is said to be.
fn not_with_a_program(tree: &Tree, pages: &[Page<'_>]) -> Vec<Violation> {
    let files = PROGRAMS.iter().filter_map(|file| tree.sources.get(*file));
    let texts: Vec<&str> = files.map(|source| &source.text[..]).collect();
    let is_named = |name: &str| {
        let written = [format!("\"{name}\""), format!("\"{name}=")];
        let is_in = |text: &&str| written.iter().any(|words| text.contains(words));
        texts.iter().any(is_in)
    };
    let missing = pages
        .iter()
        .filter(|page| page.tested.contains(WITH_A_PROGRAM) && !is_named(page.name));
    let missing = missing.map(|page| {
        let what = format!(
            "its page says that it is tested {WITH_A_PROGRAM}, and {} does not",
            PROGRAMS[0]
        );
        let advice = format!("start one with it there, or take it out of {TABLE}");
        Violation::new(&page.path(), 0, what, advice)
    });
    missing.collect()
}

/// What the script of the guests sets, against what is said to be set there.
fn against_the_script(tree: &Tree, pages: &[Page<'_>]) -> Vec<Violation> {
    let texts = SCRIPTS.iter().filter_map(|script| tree.texts.get(*script));
    let set: BTreeSet<&str> = texts.flat_map(|text| names_in(text)).collect();
    let missing = pages
        .iter()
        .filter(|page| page.tested.contains(IN_A_GUEST) && !set.contains(page.name));
    let missing = missing.map(|page| {
        let what = format!("its page says that it is set {IN_A_GUEST}, and {SCRIPT} does not");
        let advice = format!("set it there, or take it out of {TABLE}");
        Violation::new(&page.path(), 0, what, advice)
    });
    let is_lever = |name: &&&str| pages.iter().any(|page| page.name == **name);
    let strange = set.iter().filter(|name| !is_lever(name)).map(|name| {
        let what = format!("it sets `{name}`, which is no lever");
        Violation::new(SCRIPT, 0, what, "take it out")
    });
    missing.chain(strange).collect()
}

/// The levers of a script's lists: `NAME=VALUE` between the quotes.
fn names_in(script: &str) -> BTreeSet<&str> {
    let lists = LISTS.iter().filter_map(|begin| {
        let (_, list) = script.split_once(begin)?;
        list.split('"').next()
    });
    let words = lists.flat_map(str::split_whitespace);
    words
        .filter_map(|word| Some(word.split_once('=')?.0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    fn page(sets: &str, tested: &str) -> String {
        format!("# x\n\n| | |\n|---|---|\n| sets | {sets} |\n| tested | {tested} |\n")
    }

    const EACH: (&str, &str) = (
        "linerate/tests/levers/each.rs",
        "fn a() { is_tested(lever, \"here\") }",
    );

    #[test]
    fn levers_that_their_tests_set_are_well() {
        let guest = page(
            "`a.b`",
            "applied and restored in a test in a virtual machine",
        );
        let here = page(
            "`c`",
            "applied and restored in a test here, in a network namespace",
        );
        let told = page(NOTHING, NEVER);
        let program = page("`d(2)`", "applied and restored in a test with a program");
        let excused = page("`e`", "never applied in a test: nobody has it");
        let booted = page(
            NOTHING,
            "seen to take hold over a reboot of an emulated machine",
        );
        let by_hand = page(NOTHING, "seen to take hold by hand in a virtual machine");
        let files = [
            ("docs/levers/one.md", guest.as_str()),
            ("docs/levers/seven.md", &by_hand),
            ("xtask/src/vm/proofs/audit.sh", "by_hand=\"seven=1\"\n"),
            ("docs/levers/two.md", &here),
            ("docs/levers/three.md", &told),
            ("docs/levers/four.md", &program),
            ("docs/levers/five.md", &excused),
            ("docs/levers/six.md", &booted),
            ("docs/levers/README.md", "# Levers\n"),
            (
                "xtask/src/prove/two_boots.rs",
                "const OPTION: &str = \"mitigations=off\";",
            ),
            (
                "linerate/tests/levers/programs.rs",
                "const A: &str = \"four=1\";",
            ),
            (SCRIPT, "asked=\"one=5 two=6\"\nof_card=\"\"\n"),
            EACH,
        ];
        assert_eq!(said(&RULE, &files), Vec::<String>::new());
    }

    #[test]
    fn a_lever_that_no_test_sets_and_one_that_is_only_said_to_be_set_are_named() {
        let never = page("`a.b`", NEVER);
        let guest = page(
            "`c.d`",
            "applied and restored in a test in a virtual machine",
        );
        let told = page(
            NOTHING,
            "applied and restored in a test here, in a network namespace",
        );
        let program = page("`e(2)`", "applied and restored in a test with a program");
        let booted = page(
            NOTHING,
            "seen to take hold over a reboot of an emulated machine",
        );
        let files = [
            ("docs/levers/one.md", never.as_str()),
            ("docs/levers/six.md", &booted),
            ("docs/levers/two.md", &guest),
            ("docs/levers/three.md", &told),
            ("docs/levers/five.md", &program),
            (SCRIPT, "asked=\"four=5\"\n"),
        ];
        let said = said(&RULE, &files);
        assert_eq!(said.len(), 7, "{said:?}");
        assert!(said[0].starts_with("docs/levers/one.md: it can be set, and no test"));
        assert!(said[1].starts_with("docs/levers/three.md: it is told and never set"));
        assert!(said[2].starts_with("docs/levers/two.md: its page says"));
        assert!(said[3].contains("it sets `four`, which is no lever"));
        assert!(said[4].starts_with("docs/levers/five.md: its page says"));
        assert!(said[5].starts_with("xtask/src/prove/two_boots.rs: pages say"));
        assert!(said[6].contains("each.rs: pages say"), "{said:?}");
    }
}
