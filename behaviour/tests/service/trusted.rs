//! Whose commands are run: Linerate's own, and those that somebody vouches for.

use crate::common::{answer, assert_says, errors, refusal_of};
use crate::service::bench::{Bench, RUN_FAKE};

const MARKED: &str = "touch ran; echo fake/1.0";

#[test]
fn a_service_from_elsewhere_shows_its_commands_and_runs_none_of_them() {
    let bench = Bench::with_fake("untrusted", "echo fake/1.0", MARKED);
    let without_trust = RUN_FAKE.map(|word| if word == "--trust" { "--json" } else { word });
    let words = refusal_of(&mut bench.linerate(&without_trust));
    for expected in ["exec linerate serve", MARKED, "add --trust"] {
        assert_says(&words, expected);
    }
    answer(&mut bench.linerate(&["service", "list"]));
    assert_eq!(bench.0.text("ran"), "");
    assert!(!bench.0.path().join("ran").exists(), "a command was run");
    assert!(!bench.0.path().join("run").exists());
}

#[test]
fn a_run_folder_from_elsewhere_does_not_bring_its_commands_along() {
    let bench = Bench::with_fake("untrusted-run", "fake/1.0", "fake/1.2");
    assert!(bench.run_fake().status.success());
    let output = bench
        .linerate(&["study", "resume", "run", "--yes"])
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = errors(&output);
    assert_says(&words, "add --trust");
    answer(&mut bench.linerate(&["study", "report", "run"]));
}

#[test]
fn a_changed_copy_of_a_service_of_ours_is_somebody_elses() {
    let bench = Bench::new("changed-copy");
    let text = answer(&mut bench.linerate(&["service", "show", "nginx"]));
    std::fs::create_dir(bench.0.path().join("services")).unwrap();
    let file = bench.0.path().join("services/nginx.toml");
    let changed = text.replace("worker_connections 4096", "worker_connections 512");
    std::fs::write(&file, changed).unwrap();
    let run = ["study", "run", "http-json", "--target", "nginx", "--yes"];
    let output = bench.linerate(&run).output().unwrap();
    assert_says(&errors(&output), "add --trust");
}
