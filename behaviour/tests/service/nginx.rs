//! Debian's nginx as the program under test.

use std::process::Command;

use model::expected::Expected;
use model::run::{Blocks, Rig, RunRecord};
use model::{Doubt, Judgement};

use crate::common::{answer, assert_says};
use crate::service::bench::Bench;

const RUN: [&str; 10] = [
    "study",
    "run",
    "http-json",
    "--target",
    "nginx",
    "--smoke",
    "--yes",
    "--json",
    "--out",
    "run",
];

/// The version as nginx itself reports it.
fn version_of_nginx() -> String {
    let output = Command::new("/usr/sbin/nginx").arg("-v").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    said.trim().rsplit('/').next().unwrap().to_owned()
}

fn record(bench: &Bench) -> RunRecord {
    serde_json::from_str(&bench.0.text("run/run.json")).unwrap()
}

fn assert_nginx_was_measured(bench: &Bench, judgement: &str) {
    let run = record(bench);
    let service = run.service.as_ref().unwrap();
    assert_eq!(service.description.name, "nginx");
    assert_eq!(service.version, version_of_nginx());
    assert_eq!(run.rig, Rig::PrivateNamespace);
    let arms: Vec<&str> = run.arms.iter().map(|arm| arm.name.as_str()).collect();
    let steps = ["seccomp", "netfilter", "conntrack", "neighbour"];
    assert_eq!(
        arms,
        [&["baseline", "control"][..], &steps, &["floor"]].concat(),
        "all steps but that of our own server"
    );
    let judgement: Judgement = serde_json::from_str(judgement).unwrap();
    assert_eq!(judgement.rounds_done, 2);
    let blocks = <Blocks>::parse(&bench.0.text("run/blocks.jsonl")).unwrap();
    // Not every block need have one: on a busy machine a short block may pass without an answer.
    assert!(
        blocks
            .records
            .iter()
            .any(|block| block.reading.answered > 0)
    );
    for block in blocks.records {
        assert!(block.reading.cpu.server_ns.is_some(), "{}", block.arm);
        assert_eq!(block.reading.ledger.errors.failed(), 0, "{}", block.arm);
    }
    bench.assert_nothing_is_left();
}

#[test]
fn root_measures_nginx_with_every_lever_that_a_process_can_have() {
    let bench = Bench::new("nginx-root");
    let judgement = answer(&mut bench.linerate(&RUN));
    assert_nginx_was_measured(&bench, &judgement);
    let run = record(&bench);
    let left_out: Vec<String> = run
        .doubts
        .iter()
        .filter(|doubt| matches!(doubt, Doubt::LeverSkipped { .. }))
        .map(Doubt::what)
        .collect();
    for (lever, said) in ["split-send", "rearm-oneshot"].iter().zip(&left_out) {
        let because = format!("{lever} was left out: nginx has no such switch");
        assert!(said.starts_with(&because), "{said}");
    }
    assert_eq!(left_out.len(), 2, "{left_out:?}");
    assert!(
        run.study.method.contains("nginx runs once per arm"),
        "{}",
        run.study.method
    );
}

#[test]
fn an_ordinary_user_measures_nginx_as_root_does() {
    let bench = Bench::new("nginx-user");
    let judgement = answer(&mut bench.linerate_as_nobody(&RUN));
    assert_nginx_was_measured(&bench, &judgement);
}

#[test]
fn the_report_of_a_run_of_nginx_is_about_nginx() {
    let bench = Bench::new("nginx-report");
    answer(&mut bench.linerate(&RUN));
    let page = answer(&mut bench.linerate(&["study", "report", "run"]));
    let under_test = format!("Program under test: nginx {}", version_of_nginx());
    assert_says(&page, &under_test);
    assert_says(&page, "--target nginx");
    let html = bench.0.text("run/report.html");
    assert!(
        html.contains("Program under test:") && html.contains("nginx"),
        "no nginx"
    );
}

#[test]
fn the_bodies_of_nginx_are_those_of_our_own_server() {
    let described = study::services::find("nginx").unwrap().service;
    let served = described.filled(|word| (word == "message").then(|| "Hello, World!".to_owned()));
    let ours = crate::common::server::Server::start(&[]);
    for (path, expected) in &served.serves {
        let url = format!("http://{}{path}", ours.address);
        let output = Command::new("curl").args(["-sf", &url]).output().unwrap();
        let body = Expected::Body(String::from_utf8(output.stdout).unwrap());
        assert_eq!(&body, expected, "{path}");
    }
    assert_eq!(served.serves.len(), 2);
}
