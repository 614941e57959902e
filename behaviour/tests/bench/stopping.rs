//! SIGINT during a comparison: what was measured so far is saved and shown.

use std::process::Stdio;

use crate::common::processes::wait_for;
use crate::common::{Folder, assert_says, linerate};

#[test]
fn an_interrupt_ends_the_command_under_way_keeps_the_rounds_and_cleans_up() {
    let folder = Folder::new("bench-interrupt");
    // The third run of the second command hangs, so the interrupt comes while it runs.
    let hangs = "echo x >> count; test $(wc -l < count) -lt 3 || { touch hanging; sleep 600; }";
    let words = [
        "bench",
        "--hyperfine=1",
        "-r",
        "20",
        "-c",
        "touch cleaned",
        "--export-json",
        "out.json",
        "true",
        hangs,
    ];
    let mut command = linerate(&folder, &words);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the third run", || folder.path().join("hanging").exists());
    sys::process::ask_to_end(&child, sys::process::Signal::Interrupt).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert_says(
        &error,
        "stopped by Ctrl-C (SIGINT); the figures of 2 finished rounds",
    );
    let page = String::from_utf8(output.stdout).unwrap();
    assert_says(&page, "after 2 of 20 rounds");
    assert!(folder.path().join("cleaned").exists());
    assert!(folder.text("out.json").contains("\"times\""));
}
