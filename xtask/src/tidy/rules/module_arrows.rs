//! Which module of `traffic` uses which: its parts ride on the engine, never on one another.

use std::collections::BTreeMap;

use super::table::{self, MAP, Row};
use crate::tidy::Rule;
use crate::tidy::rust::{Word, words};
use crate::tidy::tree::{Tree, Violation};

/// The crate whose modules have arrows of their own.
const HOME: &str = "crates/traffic/src/";

pub(super) const RULE: Rule = Rule {
    name: "module-arrows",
    says: "A module of `traffic` uses exactly the modules that ARCHITECTURE.md gives it.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let rows: BTreeMap<String, Row> = table::rows(tree)
        .into_iter()
        .filter_map(|(path, row)| Some((module_of_row(&path)?.to_owned(), row)))
        .collect();
    let uses = uses(tree);
    let strange = uses
        .iter()
        .filter(|found| !is_given(&rows, found))
        .map(|found| {
            Violation::new(
                found.path,
                found.line,
                format!("`{}` uses `{}`", found.module, found.used),
                format!("move what both need beside them, or give it the row in {MAP}"),
            )
        });
    let idle = rows
        .iter()
        .flat_map(|(module, row)| idle(module, row, &uses));
    strange.chain(idle).collect()
}

/// Arrows of the map that nobody takes.
fn idle(module: &str, row: &Row, uses: &[Use<'_>]) -> Vec<Violation> {
    let is_taken = |given: &String| {
        let mut taken = uses.iter().filter(|found| found.module == module);
        taken.any(|found| found.used == *given)
    };
    let idle = row.uses.iter().filter(|given| !is_taken(given));
    idle.map(|given| {
        let what = format!("`{module}` no longer uses `{given}`");
        Violation::new(MAP, row.line, what, "take it off the map")
    })
    .collect()
}

/// A place where a module names another of its crate.
struct Use<'a> {
    path: &'a str,
    line: usize,
    module: &'a str,
    used: String,
}

fn is_given(rows: &BTreeMap<String, Row>, found: &Use<'_>) -> bool {
    rows.get(found.module)
        .is_some_and(|row| row.uses.contains(&found.used))
}

fn uses(tree: &Tree) -> Vec<Use<'_>> {
    let modules: Vec<&str> = tree.below(HOME, module_of).collect();
    let mut uses = Vec::new();
    for (path, source) in &tree.sources {
        let Some(inner) = path.strip_prefix(HOME) else {
            continue;
        };
        let Some(module) = module_of(inner) else {
            continue;
        };
        for (line, used) in named(&words(&source.tokens), depth(inner)) {
            if used != module && modules.contains(&used.as_str()) {
                uses.push(Use {
                    path,
                    line,
                    module,
                    used,
                });
            }
        }
    }
    uses
}

/// The module that a row of the map is about, given as a folder or as a file.
fn module_of_row(path: &str) -> Option<&str> {
    let inner = path.strip_prefix(HOME)?;
    Some(inner.strip_suffix(".rs").unwrap_or(inner))
}

/// The module at the top of the crate that a file belongs to; `None` for `lib.rs`.
fn module_of(inner: &str) -> Option<&str> {
    let (module, _) = inner.split_once(['/', '.'])?;
    (module != "lib").then_some(module)
}

/// How many times `super` leads from a file to the top of its crate.
fn depth(inner: &str) -> usize {
    inner.split('/').count() - usize::from(inner.ends_with("/mod.rs"))
}

/// Top modules that are named by a path: `crate::a`, `crate::{a::b, c}`, `super::super::a`.
fn named(words: &[Word], depth: usize) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let begins = index == 0 || words[index - 1].text != "::";
        let rest = match word.text.as_str() {
            "crate" => &words[index + 1..],
            "super" if begins => match climb(&words[index..], depth) {
                Some(rest) => rest,
                None => continue,
            },
            _ => continue,
        };
        let heads = heads(rest).into_iter();
        found.extend(heads.map(|head| (word.line, head.to_owned())));
    }
    found
}

/// What follows when a chain of `super` reaches the top; one more leads out of an inline module.
fn climb(words: &[Word], depth: usize) -> Option<&[Word]> {
    let chain = words
        .chunks(2)
        .take_while(|pair| pair[0].text == "super")
        .count();
    (chain == depth || chain == depth + 1).then(|| &words[2 * chain - 1..])
}

/// The first names of what stands behind `::`: of one path, or of each path of a group.
fn heads(words: &[Word]) -> Vec<&str> {
    let texts = words.iter().map(|word| word.text.as_str());
    let mut texts = texts.skip_while(|text| *text == "::");
    match texts.next() {
        Some("{") => heads_of_group(texts),
        Some(only) => vec![only],
        None => Vec::new(),
    }
}

/// The names that begin a group or follow a comma in it, those of groups within left out.
fn heads_of_group<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut heads = Vec::new();
    let (mut level, mut begins) = (1, true);
    for text in texts {
        match text {
            "{" => level += 1,
            "}" => level -= 1,
            _ if begins && level == 1 => heads.push(text),
            _ => {}
        }
        if level == 0 {
            break;
        }
        begins = text == ",";
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    const TABLE: &str = "| module | is | uses |\n|---|---|---|\n\
                         | `crates/traffic/src/engine` | a | |\n\
                         | `crates/traffic/src/load.rs` | b | `engine` |\n\
                         | `crates/traffic/src/server` | c | `engine` |\n";

    fn said_of_load(file: &str, text: &str) -> Vec<String> {
        let files = [
            (MAP, TABLE),
            ("crates/traffic/src/engine/mod.rs", ""),
            (
                "crates/traffic/src/server/mod.rs",
                "use crate::engine::Next;",
            ),
            (file, text),
        ];
        said(&RULE, &files)
    }

    #[test]
    fn a_sideways_arrow_is_named_however_it_is_written() {
        let good = "use crate::engine::A; ";
        for bad in [
            "use crate::server::B;",
            "use crate::{engine::{A, B}, server};",
            "use super::super::server::B;",
            "fn f() { crate::server::g() }",
            "mod tests { use super::super::super::server; }",
        ] {
            let said = said_of_load("crates/traffic/src/load/http.rs", &format!("{good}{bad}"));
            assert_eq!(said.len(), 1, "{bad}: {said:?}");
            assert!(said[0].contains("`load` uses `server`"), "{said:?}");
        }
    }

    #[test]
    fn an_arrow_on_the_map_is_well_and_one_that_nobody_takes_is_not() {
        let file = "crates/traffic/src/load/mod.rs";
        assert!(said_of_load(file, "use crate::{engine::A, load::B};").is_empty());
        assert!(said_of_load(file, "use super::engine::A;").is_empty());
        let said = said_of_load(file, "use crate::load::B;");
        assert!(
            said[0].contains("`load` no longer uses `engine`"),
            "{said:?}"
        );
    }
}
