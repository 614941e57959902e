//! The page of the levers says what their rows say, and each test that a row names sets that lever.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{answer, program};

/// Scripts that set levers in a guest, each from its `LISTS` of `NAME=VALUE`.
const GUEST_SCRIPTS: [&str; 5] = ["levers", "audit", "ktls", "shares", "locality"];
const LISTS: [&str; 5] = ["asked", "by_hand", "of_card", "of_program", "of_server"];

/// The tests that do not name the levers of their bench one by one: the bench, the file, and the
/// code there that takes them from `linerate levers list` or sets them.
const BENCH_TESTS: [(&str, &str, &str); 5] = [
    (
        "here",
        "behaviour/tests/levers/each.rs",
        "is_tested(lever, \"here\")",
    ),
    (
        "server",
        "behaviour/tests/serve/sockets.rs",
        "is_tested(lever, \"server\")",
    ),
    (
        "packets",
        "behaviour/tests/link/packets.rs",
        "is_tested(lever, \"packets\")",
    ),
    (
        "planted",
        "crates/machine/src/levers/carry/tests/planted.rs",
        "TestBench::Planted",
    ),
    (
        "reboot",
        "xtask/src/prove/two_boots.rs",
        "const OPTION: &str = \"mitigations=off\"",
    ),
];

fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).unwrap()
}

/// What `linerate levers` prints with these arguments.
fn printed(arguments: &[&str]) -> String {
    answer(Command::new(program()).arg("levers").args(arguments))
}

#[test]
fn the_page_is_made_of_the_rows() {
    let hint = "write it anew with `linerate levers page > docs/levers/README.md`";
    assert_eq!(printed(&["page"]), text("docs/levers/README.md"), "{hint}");
}

#[test]
fn a_lever_is_set_where_its_row_says_that_tests_set_it() {
    let list: Value = serde_json::from_str(&printed(&["list", "--json"])).unwrap();
    let levers = list["levers"].as_array().unwrap();
    let scripts = GUEST_SCRIPTS.map(|name| text(&format!("xtask/src/vm/proofs/{name}.sh")));
    let of_guests: BTreeSet<&str> = scripts.iter().flat_map(|text| names_in(text)).collect();
    let programs = text("behaviour/tests/levers/programs.rs");
    let mut names = BTreeSet::new();
    for lever in levers {
        let name = lever["name"].as_str().unwrap();
        names.insert(name);
        for bench in lever["tested_in"].as_array().unwrap() {
            let bench = bench.as_str().unwrap();
            let is_set = match bench {
                "guest" | "by_hand" => of_guests.contains(name),
                "program" => [format!("\"{name}\""), format!("\"{name}=")]
                    .iter()
                    .any(|written| programs.contains(written)),
                _ => {
                    let bench_test = BENCH_TESTS.iter().find(|(of, ..)| *of == bench);
                    bench_test.is_some_and(|(_, path, call)| text(path).contains(call))
                }
            };
            assert!(
                is_set,
                "{name} is said to be tested in `{bench}`, and is not"
            );
        }
    }
    let strange: Vec<_> = of_guests.difference(&names).collect();
    assert!(
        strange.is_empty(),
        "scripts of guests set what is no lever: {strange:?}"
    );
}

/// The names of the levers in a script's lists.
fn names_in(script: &str) -> Vec<&str> {
    let lists = LISTS.iter().filter_map(|list| {
        let (_, rest) = script.split_once(&format!("{list}=\""))?;
        rest.split('"').next()
    });
    let words = lists.flat_map(str::split_whitespace);
    words
        .filter_map(|word| Some(word.split_once('=')?.0))
        .collect()
}
