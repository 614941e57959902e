//! The terminal of root: what root has run as another user is detached from it, and cannot put
//! words into its input.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Folder, studies};

/// A program that writes whether it has a controlling terminal to a file in `seen`, and passes for
/// any other.
const GREEDY: &str = r#"#!/bin/sh
if (: < /dev/tty) 2> /dev/null; then echo its own; else echo none; fi > "${0%/*}/seen/$$"
echo nginx version: nginx/1.0
"#;

fn folder(name: &str) -> Folder {
    let folder = Folder::new(&format!("terminal-{name}"));
    let (program, seen) = (folder.path().join("nginx"), folder.path().join("seen"));
    fs::write(&program, GREEDY).unwrap();
    fs::create_dir(&seen).unwrap();
    let run = format!(r#"["{}", "{{way}}"]"#, program.display());
    let study = studies::of_command(&run);
    fs::write(folder.path().join("small.toml"), study).unwrap();
    for (path, mode) in [(&program, 0o755), (&seen, 0o1777)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    folder
}

/// What the program has seen of a terminal each time it ran, after a shell on a terminal of its own
/// has run this line. `$L` is Linerate, and `$P` the program.
fn seen(folder: &Folder, line: &str) -> Vec<String> {
    let (path, usual) = (folder.path(), std::env::var("PATH").unwrap());
    let mut script = Command::new("script");
    let output = script
        .args(["--quiet", "--return", "--command", line, "/dev/null"])
        .current_dir(path)
        .env("L", crate::common::program())
        .env("P", path.join("nginx"))
        .env("PATH", format!("{}:{usual}", path.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let files = fs::read_dir(path.join("seen")).unwrap();
    let read = |path: &Path| fs::read_to_string(path).unwrap().trim().to_owned();
    let seen: Vec<String> = files.map(|file| read(&file.unwrap().path())).collect();
    assert!(!seen.is_empty(), "{output:?}");
    seen
}

#[test]
fn a_command_that_root_has_run_as_nobody_has_no_terminal_to_type_into() {
    crate::common::needs_root!();
    assert_eq!(seen(&folder("itself"), "\"$P\""), ["its own"]);
    for (place, line) in [
        ("study", "\"$L\" study run small.toml --smoke --trust --yes"),
        (
            "download",
            "\"$L\" download nginx --duration 1s --client \"$P {url}\"",
        ),
        ("version", "\"$L\" service list"),
        ("levers", "\"$L\" levers run nice=1 -- \"$P\"; true"),
        ("leader", "exec \"$L\" levers run nice=1 -- \"$P\""),
    ] {
        let seen = seen(&folder(place), line);
        assert!(
            seen.iter().all(|terminal| terminal == "none"),
            "{place}: {seen:?}"
        );
    }
}
