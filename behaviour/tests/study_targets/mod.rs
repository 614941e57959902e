//! The targets of a run: their user, their capabilities and their levers.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

mod programs;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::processes::children;
use crate::common::{Folder, linerate};

const RUN: [&str; 5] = ["--smoke", "--yes", "--json", "--out", "run"];

/// The `status` file of a target of a run that is under way, once the target has become a server.
fn status_of_a_target(run: &Child) -> String {
    let begun = sys::clock::now();
    while begun.elapsed() < Duration::from_secs(30) {
        for target in children(run.id()).into_iter().flat_map(children) {
            let read = |file| std::fs::read_to_string(format!("/proc/{target}/{file}"));
            if read("cmdline").is_ok_and(|words| words.split('\0').any(|word| word == "serve")) {
                return read("status").unwrap_or_default();
            }
        }
        std::thread::yield_now();
    }
    panic!("no target came up");
}

fn assert_is_ordinary(command: &mut Command) {
    let mut run = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = status_of_a_target(&run);
    let line = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim().to_owned()
    };
    assert_eq!(line("Uid:"), "65534\t65534\t65534\t65534", "{status}");
    assert_eq!(line("CapEff:").trim_matches('0'), "", "{status}");
    assert!(run.wait().unwrap().success());
}

#[test]
fn a_target_of_root_is_an_ordinary_user_without_capabilities() {
    crate::common::needs_root!();
    let folder = Folder::new("root-target");
    assert_is_ordinary(&mut linerate(&folder, &RUN));
}

#[test]
fn a_target_of_an_ordinary_user_has_no_capabilities_in_our_namespace_either() {
    crate::common::needs_root!();
    let folder = Folder::new("user-target");
    assert_is_ordinary(&mut linerate_as_nobody(&folder, &RUN));
}
