//! What comes as one file each with a line in a list: what studies plant, instruments, checks of the machine.
//! Each is explained where a person looks for it.

use std::collections::BTreeSet;

use crate::tidy::Rule;
use crate::tidy::rust::words;
use crate::tidy::tree::{Source, Tree, Violation};

pub(super) const PLANTED: Rule = Rule {
    name: "planted",
    says: "What a study can plant is a file, a line in the list and a page in docs/planted.",
    check: |tree| {
        paged(
            tree,
            "crates/machine/src/planted/",
            "docs/planted/",
            Listed::In("ALL"),
        )
    },
};

pub(super) const INSTRUMENTS: Rule = Rule {
    name: "instruments",
    says: "Each instrument is a file or folder, a line in the list and a page in docs/instruments.",
    check: |tree| {
        paged(
            tree,
            "crates/machine/src/instruments/",
            "docs/instruments/",
            Listed::AsModule,
        )
    },
};

pub(super) const CHECKS: Rule = Rule {
    name: "doctor-checks",
    says: "Each check of the machine is a file, a line in the list and a row in docs/patterns.md.",
    check: checks,
};

/// Where a folder's `mod.rs` names what is in use.
#[derive(Clone, Copy)]
enum Listed {
    /// In the array of that name.
    In(&'static str),
    /// Each module is one.
    AsModule,
}

fn paged(tree: &Tree, folder: &str, pages: &str, listed: Listed) -> Vec<Violation> {
    let list = format!("{folder}mod.rs");
    let Some(source) = tree.sources.get(&list) else {
        return Vec::new();
    };
    let named = match listed {
        Listed::In(array) => modules_in(source, array),
        Listed::AsModule => modules(source),
    };
    let page_of = |module: &str| format!("{pages}{}.md", module.replace('_', "-"));
    let pageless = named
        .iter()
        .filter(|module| !tree.has(&page_of(module)))
        .map(|module| {
            let advice = format!("write {}", page_of(module));
            Violation::new(&list, 0, format!("`{module}` has no page"), advice)
        });
    let wanted: BTreeSet<String> = named.iter().map(|module| page_of(module)).collect();
    let is_page = |path: &&String| path.starts_with(pages) && !path.ends_with("/README.md");
    let orphans = tree
        .texts
        .keys()
        .filter(is_page)
        .filter(|page| !wanted.contains(*page));
    let orphans = orphans.map(|page| {
        Violation::new(
            page,
            0,
            "nothing in the list has this name",
            "rename it, or take it out",
        )
    });
    let unlisted = unlisted(tree, folder, &named, "Planted");
    pageless.chain(orphans).chain(unlisted).collect()
}

/// Files of a folder that implement the trait and are not in the list.
fn unlisted(tree: &Tree, folder: &str, named: &BTreeSet<String>, of: &str) -> Vec<Violation> {
    let sources = tree.sources.iter().filter_map(|(path, source)| {
        let module = path.strip_prefix(folder)?.strip_suffix(".rs")?;
        (!named.contains(module) && declares_one(source, of)).then_some((path, module))
    });
    let violations = sources.map(|(path, module)| {
        let advice = format!("add it to the list in {folder}mod.rs");
        Violation::new(path, 0, format!("`{module}` is in no list"), advice)
    });
    violations.collect()
}

/// Whether a file has a constant or unit of its own that implements the trait, beyond helpers: the
/// name by which it is written in studies stands in it.
fn declares_one(source: &Source, of: &str) -> bool {
    let words = words(&source.tokens);
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let is_impl = texts
        .windows(3)
        .any(|three| three[0] == "impl" && three[1] == of && three[2] == "for");
    is_impl && texts.contains(&"NAME")
}

fn checks(tree: &Tree) -> Vec<Violation> {
    const FOLDER: &str = "crates/machine/src/findings/";
    const PAGE: &str = "docs/patterns.md";
    let list = format!("{FOLDER}mod.rs");
    let Some(source) = tree.sources.get(&list) else {
        return Vec::new();
    };
    let page = tree.texts.get(PAGE).map_or("", String::as_str);
    let rows: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let named = modules_in(source, "CHECKS");
    let rowless = named.iter().filter(|module| {
        let text = tree.sources.get(&format!("{FOLDER}{module}.rs"));
        !text.is_some_and(|source| {
            rows.iter()
                .any(|row| source.text.contains(&format!("\"{row}\"")))
        })
    });
    let rowless = rowless.map(|module| {
        let advice = format!("add its row to {PAGE}: signal, likely cause, where to look next");
        Violation::new(&list, 0, format!("`{module}` has no row in {PAGE}"), advice)
    });
    rowless.collect()
}

/// Modules that a file declares and that have a file: not its tests.
fn modules(source: &Source) -> BTreeSet<String> {
    let items = source.syntax.items.iter();
    let modules = items.filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() => Some(module.ident.to_string()),
        _ => None,
    });
    modules.collect()
}

/// Modules that are named in an array of that name.
fn modules_in(source: &Source, array: &str) -> BTreeSet<String> {
    let declared = modules(source);
    let words = words(&source.tokens);
    let after = words.iter().skip_while(|word| word.text != array);
    let list = after
        .skip_while(|word| word.text != "=")
        .take_while(|word| word.text != ";");
    list.map(|word| word.text.clone())
        .filter(|text| declared.contains(text))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    const LIST: &str = "mod cork;\nmod table;\nstatic ALL: &[&dyn Planted] = &[&cork::Cork];\n";
    const LEVER: &str = "const NAME: &str = \"cork\"; impl Planted for Cork {}";

    #[test]
    fn a_lever_with_file_line_and_page_is_well() {
        let files = [
            ("crates/machine/src/planted/mod.rs", LIST),
            ("crates/machine/src/planted/cork.rs", LEVER),
            ("crates/machine/src/planted/table.rs", "struct Helper;"),
            ("docs/planted/cork.md", ""),
            ("docs/planted/README.md", ""),
        ];
        assert_eq!(said(&PLANTED, &files), Vec::<String>::new());
    }

    #[test]
    fn a_lever_without_page_a_page_without_lever_and_a_file_without_line_are_named() {
        let files = [
            ("crates/machine/src/planted/mod.rs", LIST),
            ("crates/machine/src/planted/quick_ack.rs", LEVER),
            ("docs/planted/gone.md", ""),
        ];
        let said = said(&PLANTED, &files);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains("`cork` has no page; write docs/planted/cork.md"));
        assert!(said[1].starts_with("docs/planted/gone.md: nothing in the list"));
        assert!(said[2].contains("`quick_ack` is in no list"));
    }

    #[test]
    fn an_instrument_without_its_page_is_named() {
        let files = [("crates/machine/src/instruments/mod.rs", "pub mod soft_irq;")];
        assert!(said(&INSTRUMENTS, &files)[0].contains("write docs/instruments/soft-irq.md"));
    }

    #[test]
    fn a_check_without_its_row_is_named() {
        let list =
            "mod audit;\nmod cpus;\nstatic CHECKS: [Check; 2] = [audit::check, cpus::check];\n";
        let files = [
            ("crates/machine/src/findings/mod.rs", list),
            (
                "crates/machine/src/findings/audit.rs",
                "const C: &str = \"audit\";",
            ),
            (
                "crates/machine/src/findings/cpus.rs",
                "const C: &str = \"cpus\";",
            ),
            (
                "docs/patterns.md",
                "| check | cause |\n|---|---|\n| `audit` | rules |\n",
            ),
        ];
        let said = said(&CHECKS, &files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("`cpus` has no row"));
    }
}
