//! Services that are absent, wrong, stuck, dead or talkative: each is named, with what to do.

use model::Doubt;
use model::run::RunRecord;

use crate::common::{errors, refusal_of, refused};
use crate::service::bench::Bench;

const READY: &str = "{ http = \"/json\" }";
const START: &str = "exec linerate serve --workers 1 --listen 127.0.0.1:{port}";

/// Measures a service with one piece of its file replaced, and returns the message with which that
/// is refused.
fn refused_run(name: &str, from: &str, to: &str) -> String {
    let bench = Bench::with_fake(name, from, to);
    let output = bench.run_fake();
    let words = refused(&output);
    bench.assert_nothing_is_left();
    assert_eq!(bench.0.text("run/blocks.jsonl"), "", "nothing was measured");
    words
}

#[track_caller]
fn assert_says(words: &str, all: &[&str]) {
    for expected in all {
        assert!(words.contains(expected), "no `{expected}` in: {words}");
    }
}

#[test]
fn a_program_that_is_absent_is_named_with_the_line_that_installs_it() {
    let words = refused_run("absent", "[\"sh\"]", "[\"no-such-program\"]");
    assert_says(
        &words,
        &[
            "Fake is not installed",
            "`no-such-program`",
            "sudo apt-get install fake",
        ],
    );
}

#[test]
fn a_program_of_another_kind_is_recognised_by_how_it_names_its_version() {
    let words = refused_run("other", "echo fake/1.0", "echo other/2.0");
    assert_says(&words, &["`fake/{version}`", "`other/2.0`"]);
}

#[test]
fn a_service_that_ends_at_once_shows_the_end_of_its_log() {
    let words = refused_run("ends", START, "echo no licence >&2; exit 3");
    assert_says(
        &words,
        &[
            "Fake ended before it was ready",
            "exit status: 3",
            "no licence",
        ],
    );
}

#[test]
fn a_service_that_goes_into_the_background_is_told_to_stay() {
    let words = refused_run("background", START, "exit 0");
    assert_says(
        &words,
        &[
            "Fake ended before it was ready",
            "exit status: 0",
            "must stay in the foreground",
        ],
    );
}

#[test]
fn a_service_that_never_gets_ready_is_given_up_and_stopped() {
    let from =
        format!("[\"-c\", \"{START}\"]\n[ready]\nwhen = {{ http = \"/json\" }}\nwithin_ms = 5000");
    let to = "[\"-c\", \"echo still thinking; exec sleep 3600\"]\n[ready]\nwhen = { http = \"/json\" }\nwithin_ms = 3000";
    let words = refused_run("never-ready", &from, to);
    assert_says(
        &words,
        &[
            "was not ready within 3000 ms",
            "accepts no connection",
            "still thinking",
        ],
    );
}

#[test]
fn a_service_on_another_port_is_told_where_it_listens() {
    let from = format!("127.0.0.1:{{port}}\"]\n[ready]\nwhen = {READY}\nwithin_ms = 5000");
    let to = format!("127.0.0.1:0\"]\n[ready]\nwhen = {READY}\nwithin_ms = 3000");
    let words = Bench::with_fake("wrong-port", &from, &to).refusal();
    assert_says(
        &words,
        &[
            "was not ready within 3000 ms",
            "it listens on 127.0.0.1:",
            "instead of 127.0.0.1:",
        ],
    );
}

#[test]
fn a_service_that_answers_otherwise_than_expected_is_not_ready() {
    let to =
        "when = { exchange = { send = \"PING\\r\\n\", expect = \"+PONG\" } }\nwithin_ms = 3000";
    let from = format!("when = {READY}\nwithin_ms = 5000");
    let words = Bench::with_fake("exchange", &from, to).refusal();
    assert_says(
        &words,
        &[
            "was not ready within 3000 ms",
            "answers with `HTTP",
            "` and not with `+PONG`",
        ],
    );
}

#[test]
fn a_service_that_gives_no_sign_of_being_ready_is_not_ready() {
    let from = format!("when = {READY}\nwithin_ms = 5000");
    for (when, expected) in [
        (
            "{ line = \"all is well\" }",
            "none of its logs says `all is well`",
        ),
        ("{ command = [\"false\"] }", "`false`"),
        (
            "{ command = [\"no-such-program\"] }",
            "needs `no-such-program`",
        ),
    ] {
        let to = format!("when = {when}\nwithin_ms = 3000");
        let words = Bench::with_fake("sign", &from, &to).refusal();
        assert_says(&words, &["was not ready within 3000 ms", expected]);
    }
}

#[test]
fn each_sign_of_being_ready_is_heard() {
    let from = format!("when = {READY}");
    for when in [
        "{ line = \"listening on\" }",
        "{ command = [\"test\", \"-s\", \"{dir}/output.log\"] }",
        "{ exchange = { send = \"\", expect = \"\" } }",
    ] {
        let bench = Bench::with_fake("heard", &from, &format!("when = {when}"));
        bench.start("fake");
        assert_eq!(bench.stop("fake"), "ended");
    }
}

/// A service with a command that is run before its start.
fn prepared_by(name: &str, script: &str, within_ms: u32) -> Bench {
    let prepare = format!(
        "[[prepare]]\ncommand = [\"sh\", \"-c\", \"{script}\"]\nwithin_ms = {within_ms}\n[start]"
    );
    Bench::with_fake(name, "[start]", &prepare)
}

#[test]
fn a_preparation_that_fails_is_named_with_what_it_said() {
    let bench = prepared_by("prepare", "echo disk of straw; exit 9", 5000);
    assert_says(
        &bench.refusal(),
        &[
            "Fake cannot be prepared",
            "exit 9` failed: exit status: 9",
            "disk of straw",
        ],
    );
}

#[test]
fn a_preparation_that_does_not_end_is_ended_with_its_children() {
    let bench = prepared_by("prepare-long", "setsid sleep 600 & sleep 600", 200);
    assert_says(&bench.refusal(), &["did not end within 200 ms"]);
    assert_eq!(bench.processes(), [0; 0]);
}

#[test]
fn a_program_that_a_preparation_needs_is_named_and_the_service_is_not_called_absent() {
    let to = "[[prepare]]\ncommand = [\"no-such-program\"]\nwithin_ms = 1000\n[start]";
    let words = Bench::with_fake("prepare-absent", "[start]", to).refusal();
    assert_says(
        &words,
        &[
            "Fake needs `no-such-program` to be prepared",
            "fix the service's file",
        ],
    );
    assert!(!words.contains("is not installed"), "{words}");
}

#[test]
fn what_is_prepared_is_there_when_the_service_starts() {
    let bench = prepared_by("prepared", "echo {port} > made", 5000);
    bench.start("fake");
    let folder = bench.0.names("tmp").remove(0);
    let made = bench.0.text(&format!("tmp/{folder}/made"));
    assert!(made.trim().parse::<u16>().is_ok(), "{made}");
    bench.stop("fake");
}

#[test]
fn a_protocol_that_nobody_speaks_is_named_with_those_there_are() {
    let bench = Bench::with_fake("no-protocol", "\"http\"", "\"gopher\"");
    assert_says(
        &bench.refusal(),
        &["services/fake.toml:5:", "`gopher`", "`redis`"],
    );
}

#[test]
fn a_service_that_answers_with_another_status_is_not_ready() {
    let words = refused_run(
        "status",
        "http = \"/json\" }\nwithin_ms = 5000",
        "http = \"/nothing\" }\nwithin_ms = 3000",
    );
    assert_says(&words, &["`GET /nothing` has status 404"]);
}

#[test]
fn a_service_that_answers_with_another_body_is_not_measured() {
    let start = format!("{START} --message Other");
    let words = refused_run("body", START, &start);
    assert_says(
        &words,
        &[
            "`GET /json` with a different body",
            "19 bytes where it has 27",
        ],
    );
}

#[test]
fn a_path_that_a_service_does_not_serve_is_named_with_those_it_does() {
    let words = refused_run("path", "\"/json\" =", "\"/other\" =");
    assert_says(&words, &["Fake serves no `/json`", "it serves /other"]);
}

#[test]
fn a_service_that_floods_its_log_is_measured_and_its_log_cut_off() {
    let start = format!("yes complaint & {START}");
    let limit = format!("{start}\"]\n[logs]\nlimit_bytes = 200000\n[ready]");
    let from = format!("{START}\"]\n[ready]");
    let bench = Bench::with_fake("flood", &from, &limit);
    let output = bench.run_fake();
    assert!(output.status.success(), "{}", errors(&output));
    let page = String::from_utf8(output.stdout).unwrap();
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("Fake floods its log: output.log"), "{page}");
    bench.assert_nothing_is_left();
}

#[test]
fn a_service_that_is_unknown_is_answered_with_those_there_are() {
    let bench = Bench::with_fake("unknown", "1.0", "1.1");
    let arguments = ["study", "run", "http-json", "--target", "ngnix"];
    let said = refusal_of(&mut bench.linerate(&arguments));
    assert_says(
        &said,
        &["there is no service `ngnix`", "caddy, fake, go-http"],
    );
}

#[test]
fn a_service_file_that_is_wrong_is_named_with_the_line() {
    let bench = Bench::with_fake("wrong-file", "grace_ms = 1000", "grace_ms = 0");
    let output = bench.run_fake();
    assert_eq!(output.status.code(), Some(2));
    let text = bench.0.text("services/fake.toml");
    let line = text
        .lines()
        .position(|line| line == "grace_ms = 0")
        .unwrap()
        + 1;
    let place = format!("services/fake.toml:{line}:");
    assert_says(&errors(&output), &[&place, "1 to 600000 ms"]);
}

/// Shows that the doubt about a flooded log, which another test looks for, cannot come from us.
#[test]
fn a_service_that_keeps_quiet_raises_no_doubt_about_its_log() {
    let bench = Bench::with_fake("quiet", "fake/1.0", "fake/1.1");
    let output = bench.run_fake();
    assert!(output.status.success(), "{}", errors(&output));
    let run: RunRecord = serde_json::from_str(&bench.0.text("run/run.json")).unwrap();
    assert_eq!(run.service.unwrap().version, "1.1");
    let floods = |doubt: &&Doubt| matches!(doubt, Doubt::LogFlooded { .. });
    assert_eq!(run.doubts.iter().find(floods), None);
    assert!(!bench.0.text("run/blocks.jsonl").contains("log_flooded"));
}
