//! Only levers write to `/proc` and `/sys`: what changes a machine can be found, and be undone.

use crate::tidy::Rule;
use crate::tidy::rust::{Source, Word, begins};
use crate::tidy::tree::{Tree, Violation};

/// Crates that hold paths of the kernel in variables: they write no file at all.
const HANDS: [&str; 3] = [
    "crates/machine/src/",
    "crates/sys/src/",
    "crates/traffic/src/",
];
/// Who may: levers, the journal in its own folder, who sets up a host of a rig, who maps the users
/// of a namespace that is just made, who keeps what is ours in a folder that is open, who has the memory
/// killer spare a process of ours, who listens on a socket that a person has named, and who makes a
/// network device, or has CPUs wake soon, for as long as a descriptor is open.
const WRITERS: [&str; 10] = [
    "crates/machine/src/journal/",
    "crates/machine/src/levers/",
    "crates/machine/src/rig/tcp.rs",
    "crates/sys/src/descent/mod.rs",
    "crates/sys/src/folder.rs",
    "crates/sys/src/memory_killer.rs",
    "crates/sys/src/namespace.rs",
    "crates/sys/src/socket_file.rs",
    "crates/sys/src/tun/mod.rs",
    "crates/sys/src/wake_latency.rs",
];
/// What opens a file for writing or changes a folder.
const WRITES: [&[&str]; 9] = [
    &["fs", "::", "write"],
    &["fs", "::", "create_dir"],
    &["fs", "::", "create_dir_all"],
    &["fs", "::", "rename"],
    &["fs", "::", "remove_dir"],
    &["fs", "::", "remove_file"],
    &["File", "::", "create"],
    &["File", "::", "options"],
    &["OpenOptions", "::", "new"],
];

pub(super) const RULE: Rule = Rule {
    name: "kernel-files",
    says: "Only levers write to files of the kernel, and the machine's crates write no others.",
    check,
};

fn check(tree: &Tree) -> Vec<Violation> {
    let sources = tree.product();
    let others = sources.filter(|(path, _)| !WRITERS.iter().any(|writer| path.starts_with(writer)));
    others
        .flat_map(|(path, source)| writes(path, source))
        .collect()
}

fn writes(path: &str, source: &Source) -> Vec<Violation> {
    let words = &source.words;
    let is_hand = HANDS.iter().any(|hand| path.starts_with(hand));
    let is_write = |at: &usize| WRITES.iter().any(|write| begins(&words[*at..], write));
    let calls = (0..words.len()).filter(is_write);
    let calls = calls.filter(|at| is_hand || names_kernel_file(&words[at + 3..]));
    let lines = calls.map(|at| words[at].line);
    let lines = lines.filter(|line| !source.is_of_tests(*line));
    let violations = lines.map(|line| {
        let what = "a file is written where kernel files are known";
        let advice = "make it a lever, with verify and undo, in crates/machine/src/levers";
        Violation::new(path, line, what, advice)
    });
    violations.collect()
}

/// Whether a path of the kernel stands in the arguments that follow.
fn names_kernel_file(words: &[Word]) -> bool {
    let mut arguments = words.iter().take_while(|word| word.text != ";");
    arguments.any(|word| word.text.contains("\"/proc/") || word.text.contains("\"/sys/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::said;

    const BY_NAME: &str = "fn f() { std::fs::write(\"/proc/sys/vm/x\", b\"1\") }";
    const BY_VARIABLE: &str = "fn f(p: &str) { File::create(p) }";

    #[test]
    fn a_write_beside_a_kernel_path_is_named_everywhere_but_in_levers() {
        let files = [
            ("linerate/src/a.rs", BY_NAME),
            ("crates/machine/src/levers/a.rs", BY_NAME),
            ("linerate/src/b.rs", BY_VARIABLE),
            ("behaviour/tests/c.rs", BY_NAME),
        ];
        let said = said(&RULE, &files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("linerate/src/a.rs:1: a file is written"));
    }

    #[test]
    fn the_crates_of_the_machine_write_no_file_by_any_path() {
        let files = [
            ("crates/machine/src/a.rs", BY_VARIABLE),
            ("crates/study/src/a.rs", BY_VARIABLE),
        ];
        let said = said(&RULE, &files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("crates/machine/src/a.rs:1"));
    }
}
