//! Helpers that tests of whole commands share: a folder for each test, and the program run in it.

pub(crate) mod as_nobody;
pub(crate) mod built_in;
pub(crate) mod groups;
pub(crate) mod hogs;
pub(crate) mod listener;
pub(crate) mod load_program;
pub(crate) mod load_server;
pub(crate) mod mutations;
pub(crate) mod needs_root;
pub(crate) mod nginx;
pub(crate) mod own_state;
pub(crate) mod planted;
pub(crate) mod processes;
pub(crate) mod refused_call;
pub(crate) mod server;
pub(crate) mod studies;
pub(crate) mod whole_run;

pub(crate) use needs_root::needs_root;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The environment variable with the path of the program, where the caller of the tests has built
/// it.
pub(crate) const PROGRAM: &str = "LINERATE_PROGRAM";

/// The path of the program, which is optimised, unlike these tests. Where no path is given the
/// program is built first, so that it is never an older one.
pub(crate) fn program() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| env::var(PROGRAM).unwrap_or_else(|_| build()))
}

/// Builds the program in the profile in which cargo has built its dependencies for the tests.
fn build() -> String {
    let tests = env::current_exe().unwrap();
    let folder = tests.ancestors().nth(2).unwrap();
    let profile = match folder.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        other => other,
    };
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--workspace", "--profile", profile])
        .args(["--bin", "linerate", "--example", "auditctl"])
        .env("CARGO_TARGET_DIR", folder.parent().unwrap())
        .status();
    assert!(built.unwrap().success(), "the program cannot be built");
    folder.join("linerate").to_str().unwrap().to_owned()
}

/// A folder, empty at first, which is removed when the test has passed.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static BEFORE: AtomicU32 = AtomicU32::new(0);
        let (own, before) = (std::process::id(), BEFORE.fetch_add(1, Ordering::Relaxed));
        let path = env::temp_dir().join(format!("linerate-test-{name}-{own}-{before}"));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The sorted names in a folder below this one; `inside` is relative, empty for the folder
    /// itself.
    pub(crate) fn names(&self, inside: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(inside)).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().file_name().into_string().unwrap()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// The text of a file in the folder; empty where there is no such file.
    pub(crate) fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// The program, to be run in a folder.
pub(crate) fn linerate(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command
        .args(arguments)
        .current_dir(folder.path())
        .stdin(Stdio::null());
    command
}

/// Standard output of a command that must succeed.
pub(crate) fn answer(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error, for messages.
pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that `said` contains `piece`.
#[track_caller]
pub(crate) fn assert_says(said: &str, piece: &str) {
    assert!(said.contains(piece), "`{piece}` is not in\n{said}");
}

/// Runs a command that must be refused and print no result, and returns what it said.
#[track_caller]
pub(crate) fn refusal_of(command: &mut Command) -> String {
    refused(&command.output().unwrap())
}

/// Standard error of a command that must have exited with 2 and printed nothing to standard output.
#[track_caller]
pub(crate) fn refused(output: &Output) -> String {
    let said = errors(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty(), "{said}");
    said
}

/// The words of a line, such as a command line, which are separated by single spaces.
pub(crate) fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}
