//! What somebody can still do who has found a way to control a worker.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use super::ENGINES;
use super::running::{Running, serve, status};
use crate::common::{Folder, assert_says, refusal_of, refused};

/// Asserts by `/proc/PID/status` that all four user and group IDs are this user's, that there are
/// no further groups and no capabilities, that none can be gained, and that a filter of system
/// calls is set where the kernel has filters.
fn assert_is_confined(pid: u32, user: &str) {
    let all = [user; 4].join(" ");
    assert_eq!(status(pid, "Uid"), all);
    assert_eq!(status(pid, "Gid"), all);
    assert_eq!(status(pid, "Groups"), "");
    for capabilities in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(status(pid, capabilities), "0".repeat(16));
    }
    assert_eq!(status(pid, "NoNewPrivs"), "1");
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    if own.contains("\nSeccomp:") && cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        assert_eq!(status(pid, "Seccomp"), "2");
    }
}

#[test]
fn a_worker_that_root_started_is_nobody_and_can_gain_nothing() {
    crate::common::needs_root!();
    let folder = Folder::new("server-privileges");
    std::fs::write(folder.path().join("file"), "for all").unwrap();
    for engine in ENGINES {
        for workers in ["1", "2"] {
            let flags = ["--engine", engine, "--workers", workers, "--root", "."];
            let server = Running::start(&folder, &flags);
            for worker in server.workers() {
                assert_is_confined(worker, "65534");
            }
            assert!(server.get("/json").contains("Hello"));
            assert!(server.get("/file").ends_with("for all"));
            assert_eq!(server.stop(), "");
        }
    }
}

#[test]
fn a_worker_of_an_ordinary_user_gains_nothing_either() {
    let folder = Folder::new("server-ordinary");
    let mut command =
        crate::common::as_nobody::linerate_as_nobody(&folder, &["serve", "--listen", "0"]);
    command.args(["--workers", "2"]);
    let server = Running::spawn(command);
    for worker in server.workers() {
        assert_eq!(status(worker, "NoNewPrivs"), "1");
        assert!(!status(worker, "Uid").starts_with("0 "));
    }
    assert!(server.get("/json").contains("Hello"));
    let more = ["serve", "--listen", "0", "--user", "root"];
    let output = crate::common::as_nobody::linerate_as_nobody(&folder, &more).output();
    let output = output.unwrap();
    assert_says(&refused(&output), "--user needs root");
}

#[test]
fn files_of_root_alone_are_served_to_nobody_unless_it_stays_root() {
    crate::common::needs_root!();
    let folder = Folder::new("server-secret");
    let secret = folder.path().join("shadow");
    std::fs::write(&secret, "root:secret").unwrap();
    std::fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    for workers in ["1", "2"] {
        let flags = ["--workers", workers, "--root", "."];
        let server = Running::start(&folder, &flags);
        assert!(server.get("/shadow").starts_with("HTTP/1.1 403 "));
        let as_root = Running::start(&folder, &[&flags[..], &["--user", "root"]].concat());
        assert!(as_root.get("/shadow").ends_with("root:secret"));
        for worker in as_root.workers() {
            assert!(status(worker, "Uid").starts_with("0 "));
            assert_eq!(status(worker, "NoNewPrivs"), "1");
        }
    }
    let other = Running::start(&folder, &["--workers", "1", "--user", "77"]);
    assert_is_confined(other.pid(), "77");
}

#[test]
fn a_folder_that_the_server_may_not_enter_is_refused_before_it_is_ready() {
    crate::common::needs_root!();
    let folder = Folder::new("server-locked");
    std::fs::create_dir(folder.path().join("locked")).unwrap();
    let locked = Permissions::from_mode(0o700);
    std::fs::set_permissions(folder.path().join("locked"), locked).unwrap();
    for workers in ["1", "2"] {
        let mut command = serve(&folder);
        command.args(["--listen", "0", "--root", "locked", "--workers", workers]);
        let said = refusal_of(&mut command);
        assert!(said.contains("--root") && said.contains("--user"), "{said}");
    }
}

#[test]
fn a_user_that_is_not_known_is_refused_by_name() {
    let folder = Folder::new("server-user");
    let mut command = serve(&folder);
    let output = command
        .args(["--listen", "0", "--user", "no-such-user"])
        .output();
    let output = output.unwrap();
    assert_says(&refused(&output), "there is no user `no-such-user`");
}
