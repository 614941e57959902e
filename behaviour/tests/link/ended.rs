//! How a link ends, with the command or before it.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::process::Stdio;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::processes::line_of;
use crate::common::{Folder, assert_says, errors, linerate, refusal_of};
use crate::link::folder;

#[test]
fn the_exit_code_of_the_command_is_passed_on_and_so_is_its_signal() {
    let folder = Folder::new("link-exit");
    for (line, code) in [("exit 7", 7), ("kill -KILL $$", 137)] {
        let output = linerate(&folder, &["link", "--", "sh", "-c", line])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", errors(&output));
        let words = errors(&output);
        assert_says(&words, &format!("ended with {code}"));
    }
}

/// The network namespace of a host, held open so that no other gets its inode number.
struct HostNamespace {
    held: File,
}

impl HostNamespace {
    fn of(pid: &str) -> Self {
        let held = File::open(format!("/proc/{}/ns/net", pid.trim())).unwrap();
        Self { held }
    }

    /// The command lines of the processes in the namespace.
    fn processes(&self) -> Vec<String> {
        let inode = self.held.metadata().unwrap().ino();
        let is_there = |path: &PathBuf| {
            let namespace = std::fs::metadata(path.join("ns/net"));
            namespace.is_ok_and(|namespace| namespace.ino() == inode)
        };
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let there = entries.map(|entry| entry.path()).filter(is_there);
        there
            .filter_map(|path| std::fs::read_to_string(path.join("cmdline")).ok())
            .filter(|line| !line.is_empty())
            .collect()
    }
}

#[test]
fn asked_to_stop_it_ends_the_command_and_the_server_with_all_that_they_started() {
    let folder = folder("link-stop");
    let server = "setsid sleep 600 & exec ./linerate serve --listen 0.0.0.0:8080 --workers 1";
    let line = "setsid sleep 600 & echo $$; wait";
    let words = ["link", "--server", server, "--", "sh", "-c", line];
    let mut running = linerate(&folder, &words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // What the server says is on standard error.
    let host = HostNamespace::of(&line_of(running.stdout.as_mut()));
    sys::process::terminate(&running).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(143));
    assert_eq!(host.processes(), [""; 0]);
}

#[test]
fn what_the_command_and_the_server_leave_running_ends_with_the_command() {
    let folder = Folder::new("link-left");
    let server = "setsid sleep 600 & echo $$; trap '' TERM; sleep 601";
    let line = "setsid sleep 600 & echo $!; read end";
    let words = [
        "link",
        "--json",
        "--server-wait",
        "0s",
        "--server",
        server,
        "--",
        "sh",
        "-c",
        line,
    ];
    let mut running = linerate_as_nobody(&folder, &words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
    let hosts = [(); 2].map(|()| HostNamespace::of(&lines.next().unwrap().unwrap()));
    drop(running.stdin.take());
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "as `read` has it");
    assert!(output.stdout.starts_with(b"{"));
    assert_eq!(hosts.map(|host| host.processes().len()), [0, 0]);
}

#[test]
fn killed_it_leaves_nobody_on_either_host() {
    let folder = Folder::new("link-killed");
    let line = "setsid sleep 600 & echo $! >&2; wait";
    let ends = ["--server-wait", "0s", "--server", line, "--"];
    let words = [&["link"], &ends[..], &["sh", "-c", line]].concat();
    let mut running = linerate_as_nobody(&folder, &words)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
    let hosts = [(); 2].map(|()| HostNamespace::of(&lines.next().unwrap().unwrap()));
    running.kill().unwrap();
    running.wait().unwrap();
    let is_left = || hosts.iter().all(|host| host.processes().is_empty());
    let longest = std::time::Duration::from_secs(30);
    assert!(sys::clock::wait_until(longest, is_left));
}

#[test]
fn asked_to_stop_while_the_server_does_not_listen_it_does_not_begin_the_command() {
    let folder = Folder::new("link-stop-early");
    let words = [
        "link",
        "--server-wait",
        "10m",
        "--server",
        "echo $$ >&2; sleep 600",
        "--",
        "echo",
        "begun",
    ];
    let mut running = linerate(&folder, &words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let host = HostNamespace::of(&line_of(running.stderr.as_mut()));
    sys::process::terminate(&running).unwrap();
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!(host.processes(), [""; 0]);
}

#[test]
fn a_server_that_ends_before_it_listens_is_named_and_the_command_does_not_start() {
    let folder = Folder::new("link-server");
    let words = [
        "link",
        "--server",
        "echo no such thing >&2; exit 3",
        "--",
        "echo",
        "started",
    ];
    let words = refusal_of(&mut linerate(&folder, &words));
    assert_says(&words, "the server has ended before");
    assert_says(&words, "no such thing");
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let folder = Folder::new("link-absent");
    let words = refusal_of(&mut linerate(&folder, &["link", "--", "no-such-program"]));
    assert_says(&words, "no-such-program could not be started");
}

#[test]
fn a_command_not_on_the_path_is_called_so_even_if_a_folder_of_the_path_is_closed() {
    crate::common::needs_root!();
    let folder = Folder::new("link-closed-path");
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut link = linerate(&folder, &["link", "--", "no-such-program"]);
    link.env("PATH", format!("{}:{path}", closed.display()));
    let words = refusal_of(&mut link);
    assert_says(
        &words,
        "no-such-program could not be started: it is not on the PATH",
    );
    assert_says(&words, "closed to that user");
}
