//! A study that sets levers of the whole machine, where one cannot be put back.

use std::process::Stdio;
use std::time::Duration;

use crate::common::processes::signal;
use crate::common::studies::OF_THE_MACHINE;
use crate::common::{Folder, assert_says, errors};
use crate::levers::sandbox::Sandbox;

/// Puts a file in the place of a sysctl of the machine, on a disk that can be made read-only.
const PRETEND: &str = "mount -t tmpfs none \"$0\" && echo 60 > \"$0/knob\" && \
                       mount --bind \"$0/knob\" /proc/sys/vm/swappiness";

#[test]
fn a_study_that_cannot_put_a_lever_of_the_machine_back_says_so_by_its_exit_code() {
    crate::common::needs_root!();
    let (sandbox, folder) = (Sandbox::new(), Folder::new("levers-left"));
    std::fs::write(folder.path().join("host.toml"), OF_THE_MACHINE).unwrap();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let disk = disk.to_str().unwrap();
    sandbox.prints(&["sh", "-c", PRETEND, disk]);
    let held = || sandbox.prints(&["cat", "/proc/sys/vm/swappiness"]);
    let study = "cd \"$0\" && exec \"$@\" study run host.toml --host --yes --out run";
    let path = folder.path().to_str().unwrap();
    let run = sandbox
        .command(&["sh", "-c", study, path, crate::common::program()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let is_set = || held() == "10\n" && folder.text("run/blocks.jsonl").lines().count() > 0;
    // The run is stopped, so that it cannot put the lever back before the disk is read-only.
    let is_caught = || {
        signal("STOP", run.id());
        let caught = is_stopped(run.id()) && is_set();
        if !caught {
            signal("CONT", run.id());
        }
        caught
    };
    assert!(sys::clock::wait_until(Duration::from_secs(60), is_caught));
    sandbox.prints(&["mount", "-o", "remount,ro", disk]);
    signal("CONT", run.id());
    let output = run.wait_with_output().unwrap();
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let wanted = "still set on this machine: swappiness; see `linerate levers journal`";
    assert_says(&said, wanted);
    sandbox.prints(&["mount", "-o", "remount,rw", disk]);
    assert!(sandbox.levers(&["undo"]).status.success());
    assert_eq!(held(), "60\n");
}

/// Whether each thread of a process is stopped.
fn is_stopped(pid: u32) -> bool {
    let mut threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.all(|thread| {
        let stat = std::fs::read_to_string(thread.unwrap().path().join("stat"));
        stat.is_ok_and(|stat| stat.contains(") T "))
    })
}
