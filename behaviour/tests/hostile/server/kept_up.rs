//! Workers that are killed.

use super::ENGINES;
use super::running::{Running, wait_until};
use crate::common::processes::signal;
use crate::common::{Folder, assert_says};

/// Kills a worker and waits for the one in its place.
fn kill_one(server: &Running) {
    let before = server.workers();
    signal("KILL", before[0]);
    let is_replaced = || {
        let now = server.workers();
        now.len() == before.len() && !now.contains(&before[0])
    };
    assert!(wait_until(is_replaced), "{before:?}");
}

#[test]
fn a_worker_that_is_killed_comes_back_and_is_counted() {
    let folder = Folder::new("server-killed");
    for engine in ENGINES {
        let flags = ["--engine", engine, "--workers", "2", "--json"];
        let mut server = Running::start(&folder, &flags);
        kill_one(&server);
        // All of them serve: the kernel deals connections out between the two.
        for _ in 0..20 {
            assert!(server.get("/json").contains("Hello"));
        }
        let now = server.asked();
        assert_eq!(now["workers_started_again"], 1, "{now}");
        assert_eq!(now["ended"], false, "{now}");
        server.signal("TERM");
        let end = server.record();
        assert_eq!(end["workers_started_again"], 1, "{end}");
        assert_eq!(end["ended"], true, "{end}");
        // Counts outlive the worker that made them.
        assert_eq!(end["connections"]["accepted"], 20, "{end}");
        let (status, said) = server.wait();
        assert!(status.success(), "{said}");
        assert_says(&said, "signal: 9");
        assert_says(&said, "another was started");
    }
}

#[test]
fn workers_that_die_again_and_again_end_the_server_with_an_error() {
    let folder = Folder::new("server-dying");
    let server = Running::start(&folder, &["--workers", "2"]);
    for _ in 0..5 {
        kill_one(&server);
    }
    let left = server.workers();
    signal("KILL", left[0]);
    let (status, said) = server.wait();
    assert_eq!(status.code(), Some(2), "{said}");
    assert_says(&said, &format!("process {}", left[0]));
    assert_says(&said, "within 60 s");
    for pid in left {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}

#[test]
fn a_worker_that_another_process_of_its_user_tells_to_end_comes_back_too() {
    let folder = Folder::new("server-told");
    let mut server = Running::start(&folder, &["--workers", "2", "--json"]);
    let before = server.workers();
    signal("TERM", before[0]);
    let is_replaced = || {
        let now = server.workers();
        now.len() == before.len() && !now.contains(&before[0])
    };
    assert!(wait_until(is_replaced), "{before:?}");
    assert!(server.get("/json").contains("Hello"));
    let now = server.asked();
    assert_eq!(now["workers_started_again"], 1, "{now}");
    let said = server.stop();
    assert_says(&said, "another was started");
}
