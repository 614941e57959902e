//! Commits that cannot be built, started or compared: the gate says why, and leaves nothing behind.

use std::net::TcpListener;
use std::process::{Command, Output};

use super::{Project, SERVES};
use crate::common::{Folder, errors, linerate, program};

#[test]
fn what_cannot_be_measured_is_told_and_leaves_nothing() {
    let project = Project::new(["Hello", "Hello, World"]);
    let missing = ["gate", "one", "no-such-branch", "--run", "true"];
    let output = linerate(&project.folder, &missing).output().unwrap();
    assert!(
        errors(&output).contains("`no-such-branch` is no commit"),
        "{}",
        errors(&output)
    );
    assert_eq!(output.status.code(), Some(2));
    std::fs::create_dir(project.folder.path().join("new")).unwrap();
    let mut elsewhere = project.gate(&["--run", "true"]);
    elsewhere.current_dir(project.folder.path().join("new"));
    let said = errors(&elsewhere.output().unwrap());
    assert!(said.contains("has no folder new/"), "{said}");
    let last_words = "echo first; echo the reason; exit 7";
    let grown = "[ \"$(cat part)\" = Hello ] || exit 5";
    for (arguments, parts) in [
        (
            &["--run", "true", "--build", last_words][..],
            &["exited with 7", "the reason", "one ("][..],
        ),
        (
            &["--run", "true", "--build", grown],
            &["the build of two (", "exited with 5; try it"],
        ),
        (
            &["--run", grown],
            &["two (", "exited with 5; it must", "at both commits"],
        ),
        (&["--run", "./bench {size}"], &["--set size=VALUE"]),
        (&["--run", "true", "--stacks"], &["--stacks", "versus"]),
        (&["--serve", "./app 8080"], &["{port}"]),
        (&["--serve", "./app ${port}"], &["$port without braces"]),
        (&["--serve", "${dir}/app {port}"], &["$dir without braces"]),
    ] {
        assert_refused(&project, arguments, parts);
    }
}

#[test]
fn a_server_that_does_not_come_up_or_answers_otherwise_is_told_and_leaves_nothing() {
    let project = Project::new(["Hello", "Hello, World"]);
    let ends = "echo out of words >&2; exit 3 # {port}";
    for (arguments, parts) in [
        (
            &["--serve", ends][..],
            &["ended before it was ready", "out of words"][..],
        ),
        (
            &[
                "--serve",
                "echo warming up; sleep 600 # {port}",
                "--start-within",
                "300ms",
            ],
            &[
                "`echo warming up; sleep 600 # {port}`: one (",
                "within 300 ms",
                "does not listen",
                "    warming up",
            ],
        ),
        (
            &["--serve", SERVES, "--url", "/plaintext"],
            &["do not answer alike", "--different-answers"],
        ),
        (&["--serve", SERVES, "--url", "/absent"], &["status 404"]),
    ] {
        assert_refused(&project, arguments, parts);
    }
}

/// Asserts that a gate is refused, says each of these parts and leaves nothing.
fn assert_refused(project: &Project, arguments: &[&str], parts: &[&str]) {
    let output = project.run(arguments);
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    for part in parts {
        assert!(
            said.contains(part),
            "{arguments:?}: {part} is missing in {said}"
        );
    }
    project.assert_clean();
}

#[test]
fn a_shallow_clone_and_one_with_submodules_are_told_what_gets_the_rest() {
    let project = Project::new(["5", "5"]);
    let shallow = Folder::new("gate-shallow");
    let from = format!("file://{}", project.folder.path().display());
    let to = shallow.path().join("clone");
    let clone = ["clone", "-q", "--depth", "1", &from, to.to_str().unwrap()];
    project.git(&clone);
    let mut gate = linerate(&shallow, &["gate", "HEAD~1", "HEAD", "--run", "true"]);
    let said = errors(&gate.current_dir(&to).output().unwrap());
    for part in ["`HEAD~1` is no commit", "git fetch --unshallow origin"] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    std::fs::write(project.folder.path().join(".gitmodules"), "").unwrap();
    project.git(&["add", ".gitmodules"]);
    project.git(&["commit", "-q", "-m", "with submodules"]);
    project.git(&["tag", "--force", "one"]);
    let output = project.run(&["--run", "true", "--build", "cat lib/absent"]);
    let said = errors(&output);
    assert!(said.contains("`git submodule update --init &&`"), "{said}");
    assert_eq!(output.status.code(), Some(2), "{said}");
    project.assert_clean();
}

#[test]
fn a_server_whose_port_is_taken_is_told_with_its_own_words() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let project = Project::new(["Hello", "Hello"]);
    let line = format!("exec $LINERATE serve --listen 127.0.0.1:{port} # {{port}}");
    let output = project.run(&["--serve", &line]);
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    let said = errors(&output);
    for part in ["one (", "ended before it was ready", "in use"] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    project.assert_clean();
}

/// Runs a gate with a disk of size `room` mounted at the folder `at`, and prints what that holds
/// afterwards.
fn with_a_small_disk(project: &Project, at: &str, room: &str, flags: &[&str]) -> Output {
    let script = "mount -t tmpfs -o size=$ROOM none \"$AT\" || exit 77
        \"$LINERATE\" gate one two --yes \"$@\"; code=$?
        echo \"left: $(ls -A \"$AT\")\"; exit $code";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script, "sh"])
        .args(flags)
        .current_dir(project.folder.path())
        .env("TMPDIR", project.temporary.path())
        .env("XDG_RUNTIME_DIR", project.register.path())
        .envs([("AT", at), ("ROOM", room), ("LINERATE", program())]);
    command.output().unwrap()
}

#[test]
fn a_full_disk_is_told_wherever_it_is_met_and_nothing_stays_on_it() {
    crate::common::needs_root!();
    let project = Project::new(["5", "5"]);
    std::fs::create_dir(project.folder.path().join("runs")).unwrap();
    let large = vec![b'x'; 1 << 20];
    std::fs::write(project.folder.path().join("large"), large).unwrap();
    project.git(&["add", "large"]);
    project.git(&["commit", "-q", "-m", "a large file"]);
    project.git(&["tag", "--force", "two"]);
    let (temporary, runs) = (
        project.temporary.path().display().to_string(),
        project.folder.path().join("runs").display().to_string(),
    );
    let grows = "head -c 2000000 /dev/zero > built";
    for (at, room, flags, parts) in [
        (
            &temporary,
            "512k",
            &["--run", "true"][..],
            ["two (", "check free space"],
        ),
        (
            &temporary,
            "1500k",
            &["--run", "true", "--build", grows],
            ["the build of one (", "No space left"],
        ),
        (
            &runs,
            "8k",
            &["--run", "true", "--out", "runs/run"],
            ["no room for", "runs/run"],
        ),
    ] {
        let output = with_a_small_disk(&project, at, room, flags);
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        let left = String::from_utf8_lossy(&output.stdout).into_owned();
        let of_run = if at == &runs { "run" } else { "" };
        assert_eq!(left.trim_end(), format!("left: {of_run}").trim_end());
        project.assert_clean();
    }
}
