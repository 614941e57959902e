//! Whose commands are run: Linerate's own, and those that somebody vouches for.

use crate::common::{answer, assert_says, errors, refusal_of, refused};
use crate::service::bench::{Bench, RUN_FAKE};

/// A command that leaves a file as its mark, in a folder in which every user may write.
const MARKED: &str = "touch tmp/ran; echo fake/1.0";

#[test]
fn a_service_from_elsewhere_shows_its_commands_and_runs_none_of_them() {
    let bench = Bench::with_fake("untrusted", "echo fake/1.0", MARKED);
    let without_trust = RUN_FAKE.map(|word| if word == "--trust" { "--json" } else { word });
    let words = refusal_of(&mut bench.linerate(&without_trust));
    for expected in ["exec linerate serve", MARKED, "add --trust"] {
        assert_says(&words, expected);
    }
    answer(&mut bench.linerate(&["service", "list"]));
    bench.assert_nothing_is_left();
    assert!(!bench.0.path().join("run").exists());
}

#[test]
fn a_program_of_one_version_from_elsewhere_is_not_asked_which_it_is() {
    let told = "version_arguments = [\"-c\", \"echo fake/1.0\"]";
    let marked = format!("version = \"1\"\nversion_arguments = [\"-c\", \"{MARKED}\"]");
    let bench = Bench::with_fake("untrusted-version", told, &marked);
    let refused = refusal_of(&mut bench.linerate(&["service", "start", "fake"]));
    assert_says(&refused, "sh1|sh-1|sh -c");
    answer(&mut bench.linerate(&["service", "list"]));
    bench.assert_nothing_is_left();
    answer(&mut bench.linerate(&["service", "list", "--trust"]));
    assert_eq!(
        bench.0.names("tmp"),
        ["ran"],
        "it leaves a mark if it is run"
    );
}

#[test]
fn a_run_folder_from_elsewhere_does_not_bring_its_commands_along() {
    let bench = Bench::with_fake("untrusted-run", "fake/1.0", "fake/1.2");
    assert!(bench.run_fake().status.success());
    let output = bench
        .linerate(&["study", "resume", "run", "--yes"])
        .output();
    let output = output.unwrap();
    let words = refused(&output);
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
