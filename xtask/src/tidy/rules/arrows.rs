//! Compares which part uses which, by the manifests and the code, with the map in
//! `ARCHITECTURE.md`. The parts are crates, and the modules of `traffic`, which build on the engine
//! and never on one another.

use std::collections::BTreeMap;

use crate::tidy::Rule;
use crate::tidy::markdown::quoted;
use crate::tidy::rust::Word;
use crate::tidy::tree::{Tree, Violation};

/// File with the map.
const MAP: &str = "ARCHITECTURE.md";
/// Sources of the crate whose modules are on the map.
const HOME: &str = "crates/traffic/src/";

pub(super) const CRATES: Rule = Rule {
    name: "crate-arrows",
    says: "Each crate uses exactly the crates that the table of ARCHITECTURE.md gives it.",
    check: |tree| against_the_map(tree, &between_crates(tree), |part| !is_module(part)),
};

pub(super) const MODULES: Rule = Rule {
    name: "module-arrows",
    says: "A module of `traffic` uses exactly the modules that ARCHITECTURE.md gives it.",
    check: |tree| against_the_map(tree, &between_modules(tree), is_module),
};

fn is_module(part: &str) -> bool {
    part.starts_with(HOME)
}

/// A place where one part uses another.
struct Arrow {
    path: String,
    line: usize,
    /// Name of the part on the map: its path, without an extension for a module.
    part: String,
    used: String,
}

/// A row of a table whose column `uses` lists what a part may use.
struct MapRow {
    line: usize,
    uses: Vec<String>,
}

/// Violations: arrows that are not on the map, and arrows of the map that do not exist.
fn against_the_map(tree: &Tree, arrows: &[Arrow], concerns: fn(&str) -> bool) -> Vec<Violation> {
    let rows = rows(tree);
    let is_given = |arrow: &&Arrow| {
        let row = rows.get(&arrow.part);
        row.is_some_and(|row| row.uses.contains(&arrow.used))
    };
    let strange = arrows.iter().filter(|arrow| !is_given(arrow)).map(|arrow| {
        let what = format!("`{}` uses `{}`", arrow.part, arrow.used);
        let advice = format!("move what both need below them, or give it to its row in {MAP}");
        Violation::new(&arrow.path, arrow.line, what, advice)
    });
    let given = rows.iter().filter(|(part, _)| concerns(part));
    let given = given.flat_map(|(part, row)| row.uses.iter().map(move |used| (part, row, used)));
    let is_taken = |part: &str, used: &str| {
        let mut arrows = arrows.iter();
        arrows.any(|arrow| arrow.part == part && arrow.used == used)
    };
    let idle = given.filter(|(part, _, used)| !is_taken(part, used));
    let idle = idle.map(|(part, row, used)| {
        let what = format!("`{part}` no longer uses `{used}`");
        Violation::new(MAP, row.line, what, "take it off the map")
    });
    strange.chain(idle).collect()
}

/// The rows of the map's tables with a column `uses`, by part.
fn rows(tree: &Tree) -> BTreeMap<String, MapRow> {
    let mut rows = BTreeMap::new();
    let mut column = None;
    let text = tree.texts.get(MAP).map_or("", String::as_str);
    for (line, text) in (1..).zip(text.lines()) {
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        column = match column {
            _ if !text.starts_with('|') => None,
            None => cells.iter().position(|cell| *cell == "uses"),
            Some(column) => {
                let part = cells[1].trim_matches('`').trim_end_matches(".rs");
                let uses = cells.get(column).map_or("", |cell| cell);
                let uses = quoted(uses).map(str::to_owned).collect();
                rows.insert(part.to_owned(), MapRow { line, uses });
                Some(column)
            }
        };
    }
    rows
}

/// Arrows between crates, by the manifests, without dev-dependencies.
fn between_crates(tree: &Tree) -> Vec<Arrow> {
    let members: Vec<(&str, &str)> = tree.members().collect();
    let name_of = |folder: &str| folder.trim_start_matches("crates/").to_owned();
    let names: Vec<String> = members.iter().map(|(folder, _)| name_of(folder)).collect();
    let mut arrows = Vec::new();
    for (folder, manifest) in members {
        let mut is_list = false;
        for (line, text) in (1..).zip(manifest.lines()) {
            if text.starts_with('[') {
                is_list = text.ends_with("dependencies]") && !text.contains("dev-");
            }
            let used = text.split([' ', '.', '=']).next().unwrap_or_default();
            if is_list && names.iter().any(|name| name == used) {
                arrows.push(Arrow {
                    path: format!("{folder}/Cargo.toml"),
                    line,
                    part: folder.to_owned(),
                    used: used.to_owned(),
                });
            }
        }
    }
    arrows
}

fn between_modules(tree: &Tree) -> Vec<Arrow> {
    let modules: Vec<&str> = tree.below(HOME, module_of).collect();
    let mut arrows = Vec::new();
    for (path, source) in &tree.sources {
        let inner = path.strip_prefix(HOME).unwrap_or_default();
        let Some(module) = module_of(inner) else {
            continue;
        };
        let named = named(&source.words, depth(inner)).into_iter();
        let others = named.filter(|(_, used)| *used != module && modules.contains(used));
        arrows.extend(others.map(|(line, used)| Arrow {
            path: path.clone(),
            line,
            part: format!("{HOME}{module}"),
            used: used.to_owned(),
        }));
    }
    arrows
}

/// The top-level module that a file of the crate belongs to; `None` for `lib.rs`.
fn module_of(inner: &str) -> Option<&str> {
    let (module, _) = inner.split_once(['/', '.'])?;
    (module != "lib").then_some(module)
}

/// How many `super` lead from a file to the top of its crate.
fn depth(inner: &str) -> usize {
    inner.split('/').count() - usize::from(inner.ends_with("/mod.rs"))
}

/// Top-level modules that are named in paths such as `crate::a`, `crate::{a::b, c}` and
/// `super::super::a`, with their lines. In an inline module there is one more `super`.
fn named(words: &[Word], depth: usize) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let rest = &words[at..];
        let is_begin = at == 0 || words[at - 1].text != "::";
        let climbed = rest
            .chunks(2)
            .take_while(|pair| pair[0].text == "super")
            .count();
        let path = match word.text.as_str() {
            "crate" => &rest[1..],
            "super" if is_begin && (depth..=depth + 1).contains(&climbed) => {
                &rest[2 * climbed - 1..]
            }
            _ => continue,
        };
        found.extend(heads(path).into_iter().map(|head| (word.line, head)));
    }
    found
}

/// The first name after `::`, or the first names of all paths of a group, without those of nested
/// groups.
fn heads(words: &[Word]) -> Vec<&str> {
    let (mut heads, mut level, mut is_begin) = (Vec::new(), 0, true);
    for word in words.iter().skip(1) {
        match word.text.as_str() {
            "{" => level += 1,
            "}" => level -= 1,
            name if is_begin && level <= 1 => heads.push(name),
            _ => {}
        }
        if level <= 0 {
            break;
        }
        is_begin = matches!(word.text.as_str(), "{" | ",");
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    const TABLE: &str = "| crate | is | uses |\n|---|---|---|\n| `crates/wire` | bytes | |\n\
                         | `linerate` | commands | `wire`, `study` |\n\n\
                         | module | is | uses |\n|---|---|---|\n\
                         | `crates/traffic/src/engine` | a | |\n\
                         | `crates/traffic/src/load.rs` | b | `engine` |\n\
                         | `crates/traffic/src/server` | c | `engine` |\n";

    fn said_of_crates(uses: &str) -> Vec<String> {
        let members = "[workspace]\nmembers = [\"linerate\", \"crates/*\"]\n";
        let linerate =
            format!("[dependencies]\n{uses}[dev-dependencies]\njudge.workspace = true\n");
        let files = [
            (MAP, TABLE),
            ("Cargo.toml", members),
            ("crates/wire/Cargo.toml", "[package]\n"),
            ("crates/study/Cargo.toml", "[package]\n"),
            ("crates/judge/Cargo.toml", "[package]\n"),
            ("linerate/Cargo.toml", &linerate),
        ];
        said(&CRATES, &files)
    }

    #[test]
    fn an_arrow_too_many_and_one_too_few_are_both_named_and_those_of_the_map_are_well() {
        let as_on_the_map = "wire.workspace = true\nstudy = { workspace = true }\n";
        assert_eq!(said_of_crates(as_on_the_map), Vec::<String>::new());
        let said = said_of_crates("wire.workspace = true\njudge.workspace = true\n");
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("linerate/Cargo.toml:3: `linerate` uses `judge`"));
        assert!(said[1].contains("no longer uses `study`"));
    }

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
        said(&MODULES, &files)
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
            assert!(said[0].contains("/load` uses `server`"), "{said:?}");
        }
    }

    #[test]
    fn an_arrow_on_the_map_is_well_and_one_that_nobody_takes_is_not() {
        let file = "crates/traffic/src/load/mod.rs";
        assert!(said_of_load(file, "use crate::{engine::A, load::B};").is_empty());
        assert!(said_of_load(file, "use super::engine::A;").is_empty());
        let said = said_of_load(file, "use crate::load::B;");
        assert!(
            said[0].contains("/load` no longer uses `engine`"),
            "{said:?}"
        );
    }
}
