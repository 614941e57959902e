//! The catalogue of levers: the files of `crates/machine/levers`, one for each subject.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Lever;

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../levers/", $name)))),+]
    };
}

/// The order is that of `linerate levers list --json`.
const FILES: [(&str, &str); 15] = files![
    "by_hand.toml",
    "locality.toml",
    "interrupts.toml",
    "drivers.toml",
    "queues.toml",
    "offloads.toml",
    "tcp.toml",
    "routes.toml",
    "sockets.toml",
    "memory.toml",
    "power.toml",
    "scheduling.toml",
    "programs.toml",
    "our_server.toml",
    "our_tester.toml",
];

/// Parsed on first use, since most commands need no lever.
static ALL: LazyLock<Vec<Lever>> = LazyLock::new(|| {
    let read = FILES.iter().map(|(name, text)| levers_of(name, text));
    let read: Result<Vec<_>, String> = read.collect();
    let files = read.expect("a test reads all files");
    files.into_iter().flatten().collect()
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    lever: Vec<Lever>,
}

/// Parses the levers of a file; an error says where in the file it is.
fn levers_of(name: &str, text: &str) -> Result<Vec<Lever>, String> {
    let file: Result<File, _> = toml::from_str(text);
    file.map(|file| file.lever)
        .map_err(|error| format!("crates/machine/levers/{name}: {error}"))
}

/// All levers, in the order of the catalogue.
pub fn all() -> impl Iterator<Item = &'static Lever> {
    ALL.iter()
}

/// The lever with this name.
pub fn find(name: &str) -> Option<&'static Lever> {
    all().find(|lever| lever.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_each_file_of_the_folder_is_one() {
        for (name, text) in FILES {
            if let Err(wrong) = levers_of(name, text) {
                panic!("{wrong}");
            }
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/levers");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), FILES.len());
    }

    #[test]
    fn what_is_wrong_in_a_file_is_named_with_its_line() {
        let wrong = levers_of("x.toml", "\n[[lever]]\nnme = \"a\"\n")
            .err()
            .unwrap();
        assert!(
            wrong.starts_with("crates/machine/levers/x.toml: "),
            "{wrong}"
        );
        assert!(wrong.contains("line 3"), "{wrong}");
    }
}
