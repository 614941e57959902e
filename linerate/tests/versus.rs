//! Two running servers side by side, through the program.

mod common;
#[path = "common/server.rs"]
mod server;

use common::{Folder, answer, errors, linerate};
use model::{Judgement, Verdict};
use server::Server;

#[test]
fn a_server_that_does_twice_the_work_is_called_worse_and_does_not_pass_the_gate() {
    let folder = Folder::new("versus");
    let (plain, slow) = (
        Server::start(&[]),
        Server::start(&["--busy-work-rounds", "40000"]),
    );
    let (a, b) = (
        format!("http://{}/json", plain.address),
        format!("http://{}/json", slow.address),
    );
    let passes = |run: &str| {
        let words = ["versus", &a, &b, "--yes", "--out", run, "--rounds", "12"];
        let gate = linerate(&folder, &[&words[..], &["--fail-if-worse"]].concat())
            .output()
            .unwrap();
        let said = errors(&gate);
        let is_worse = said.contains("--fail-if-worse: B is worse than A");
        assert_eq!(gate.status.code(), Some(i32::from(is_worse)), "{said}");
        !is_worse
    };
    // Of some hundred runs the control of one differs by chance, and that one says nothing.
    let mut runs = ["first", "second"].into_iter();
    let run = runs.find(|run| !passes(run));
    let run = run.unwrap_or_else(|| panic!("twice B was not found to be worse"));
    // Whoever only asks again what came of it asks no gate, and gets 0.
    let words = ["study", "report", run, "--json"];
    let json = answer(&mut linerate(&folder, &words));
    let judgement: Judgement = serde_json::from_str(&json).unwrap();
    let step = judgement.steps.last().unwrap();
    assert_eq!(step.verdict, Verdict::Worse, "{:?}", step.effect);
    assert!(step.effect.unwrap().ratio > 1.3, "{:?}", step.effect);
}

#[test]
fn names_queries_and_hosts_stay_out_of_the_run_folder() {
    let folder = Folder::new("privacy");
    let server = Server::start(&[]);
    let url = format!("http://{}/json?token=planted-query", server.address);
    let arguments = ["versus", &url, &url, "--smoke", "--yes", "--out", "run"];
    let page = answer(
        linerate(&folder, &arguments)
            .env("USER", "planted-user")
            .env("LOGNAME", "planted-user"),
    );
    assert!(
        page.contains("repeat: linerate versus http://127.0.0.1"),
        "{page}"
    );
    assert!(!page.contains("planted"), "{page}");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for file in ["run.json", "blocks.jsonl", "report.html"] {
        let text = folder.text(&format!("run/{file}"));
        assert!(!text.is_empty(), "{file}");
        assert!(
            !text.contains("planted"),
            "a planted secret stands in {file}"
        );
        // A host name as short as `vm` stands in longer words too: look for it as a value.
        assert!(
            !text.contains(&format!("\"{}\"", host.trim())),
            "the host name is in {file}"
        );
    }
}

#[test]
fn credentials_are_refused_and_not_repeated() {
    let folder = Folder::new("credentials");
    let url = "http://me:planted-word@127.0.0.1:1/";
    let output = linerate(&folder, &["versus", url, url, "--yes"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        !errors(&output).contains("planted-word"),
        "{}",
        errors(&output)
    );
    assert_eq!(folder.names(""), [""; 0]);
}

#[test]
fn a_host_that_is_not_ours_is_not_loaded_without_a_word() {
    let folder = Folder::new("mine");
    // TEST-NET-1 (RFC 5737) belongs to nobody; nothing is sent to it.
    let arguments = [
        "versus",
        "http://192.0.2.1/",
        "http://127.0.0.1:1/",
        "--yes",
    ];
    let output = linerate(&folder, &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("--mine 192.0.2.1"),
        "{}",
        errors(&output)
    );
}

#[test]
fn a_server_that_is_not_there_is_named_with_advice() {
    let folder = Folder::new("absent");
    let server = Server::start(&[]);
    let there = format!("http://{}/json", server.address);
    let output = linerate(&folder, &["versus", &there, "http://127.0.0.1:1/", "--yes"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("127.0.0.1:1"),
        "{}",
        errors(&output)
    );
}
