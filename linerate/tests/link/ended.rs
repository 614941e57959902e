//! How a link ends, with the command or before it.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::common::{Folder, errors, linerate};
use crate::folder;

#[test]
fn the_exit_code_of_the_command_is_passed_on_and_so_is_its_signal() {
    let folder = Folder::new("link-exit");
    for (line, code) in [("exit 7", 7), ("kill -KILL $$", 137)] {
        let output = linerate(&folder, &["link", "--", "sh", "-c", line])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", errors(&output));
        let words = errors(&output);
        assert!(words.contains(&format!("ended with {code}")), "{words}");
    }
}

#[test]
fn asked_to_stop_it_ends_the_command_and_the_server_with_it() {
    let folder = folder("link-stop");
    let server = "exec ./linerate serve --listen 0.0.0.0:8080 --workers 1";
    let line = "echo $$; exec sleep 600";
    let words = ["link", "--server", server, "--", "sh", "-c", line];
    let mut running = linerate(&folder, &words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pid = String::new();
    let said = running.stdout.as_mut().unwrap();
    // The first line is the server's, on standard error; the command's is here.
    BufReader::new(said).read_line(&mut pid).unwrap();
    let host = std::fs::read_link(format!("/proc/{}/ns/net", pid.trim())).unwrap();
    sys::process::terminate(&running).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(143));
    assert!(!anybody_in(&host), "{}", host.display());
}

/// Whether a process is left in a network namespace.
fn anybody_in(host: &std::path::Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut hosts =
        processes.filter_map(|entry| std::fs::read_link(entry.path().join("ns/net")).ok());
    hosts.any(|other| other == host)
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
    let output = linerate(&folder, &words).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let words = errors(&output);
    assert!(words.contains("the server has ended before"), "{words}");
    assert!(words.contains("no such thing"), "{words}");
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let folder = Folder::new("link-absent");
    let output = linerate(&folder, &["link", "--", "no-such-program"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = errors(&output);
    assert!(
        words.contains("no-such-program could not be started"),
        "{words}"
    );
}
