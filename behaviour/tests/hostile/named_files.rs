//! Files that are found by their names alone, in a folder that somebody else filled.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use crate::common::{Folder, linerate, refusal_of};

/// Address space that a list may take, in KiB, and its time, in seconds.
const MOST_KIB: u32 = 900_000;
const MOST_S: u32 = 60;

/// Runs the program with bounded memory and time. Out of time, it ends with the exit code 124.
fn bounded(folder: &Folder, arguments: &[&str]) -> Output {
    let program = linerate(folder, arguments);
    let limited = format!("ulimit -v {MOST_KIB}; exec timeout {MOST_S} \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited]).arg(program.get_program());
    command.args(program.get_args()).current_dir(folder.path());
    command.output().unwrap()
}

#[test]
fn a_list_reads_no_pipe_no_device_and_no_file_without_end() {
    for (kind, list) in [("studies", "study"), ("services", "service")] {
        let folder = Folder::new(&format!("named-{kind}"));
        let files = folder.path().join(kind);
        fs::create_dir(&files).unwrap();
        symlink("/dev/zero", files.join("endless.toml")).unwrap();
        let made = Command::new("mkfifo").arg(files.join("pipe.toml")).status();
        assert!(made.unwrap().success());
        let sparse = fs::File::create(files.join("sparse.toml")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        let output = bounded(&folder, &[list, "list"]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        for (name, why) in [
            ("endless", "it is no regular file"),
            ("pipe", "it is no regular file"),
            ("sparse", "it has more than the 1048576 bytes"),
        ] {
            let mut lines = said.lines();
            let line = lines.find(|line| line.starts_with(name));
            assert!(
                line.is_some_and(|line| line.contains(why)),
                "{name}: {said}"
            );
        }
    }
}

#[test]
fn a_name_on_a_wrong_command_line_reaches_the_terminal_as_what_it_is() {
    let folder = Folder::new("named-words");
    let name = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}";
    for arguments in [
        &["study", "report", "run", name][..],
        &["study", "run", "--rig", name],
        &["load", "http://127.0.0.1:1/", "-c", name],
        &[name],
    ] {
        // With the parser's own colours, and without any.
        for forced in ["1", "0"] {
            let mut command = linerate(&folder, arguments);
            command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", forced);
            let said = refusal_of(&mut command);
            assert!(said.contains("owned") || forced == "0", "{said:?}");
            assert!(!said.contains(['\u{7}', '\u{9b}', '\u{202e}']), "{said:?}");
            assert!(
                !said.contains("\u{1b}]") && !said.contains("\u{1b}[2J"),
                "{said:?}"
            );
            assert_eq!(said.contains("\u{1b}[1m"), forced == "1", "{said:?}");
        }
    }
}
