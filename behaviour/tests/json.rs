//! JSON for other programs, and the asks and tells of an agent: values that scripts rely on.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::load_server::{OK, answer_with};
use crate::common::processes::line_of;
use crate::common::{Folder, answer, linerate, words};

#[test]
fn a_study_is_the_same_in_the_list_and_alone() {
    let folder = Folder::new("studies");
    let json = |words: &[&str]| {
        let text = answer(&mut linerate(&folder, words));
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let list = json(&["study", "list", "--json"]);
    for study in list["studies"].as_array().unwrap() {
        let name = study["name"].as_str().unwrap();
        let shown = json(&["study", "show", name, "--json"]);
        assert_eq!(shown["study"]["title"], study["title"]);
    }
}

#[test]
fn the_ready_line_names_the_port_that_was_taken() {
    let folder = Folder::new("ready");
    let mut serve = linerate(
        &folder,
        &["serve", "--listen", "0", "--json", "--tls-self-signed"],
    )
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    let line = line_of(serve.stdout.take());
    let ready: Value = serde_json::from_str(&line).unwrap();
    let connected = TcpStream::connect(ready["listening"].as_str().unwrap());
    let port = connected.map(|stream| stream.peer_addr().unwrap().port());
    serve.kill().unwrap();
    serve.wait().unwrap();
    assert_eq!(ready["port"], port.unwrap());
}

#[test]
fn an_agent_answers_each_ask_with_its_own_tell() {
    let workload = json!({ "path": "/json", "connections": 2, "threads": 1 });
    let elsewhere = answer_with(OK);
    let reach = json!({ "address": elsewhere, "speaks": { "http": { "path": "/" } } });
    let asks = [
        json!({ "ask": "hello", "protocol": model::message::PROTOCOL }),
        json!({ "ask": "facts", "full": true }),
        json!({ "ask": "levers", "wanted": ["conntrack", "congestion-control=reno"],
                "first": ["conntrack"], "on_host": false, "workers": 1 }),
        json!({ "ask": "boot", "wanted": "mitigations=off" }),
        json!({ "ask": "watch", "watch_ms": 20 }),
        json!({ "ask": "find", "service": nginx() }),
        json!({ "ask": "start", "target": "a", "program": "serve", "levers": ["split-send"],
                "workload": workload }),
        json!({ "ask": "block", "target": "a", "workload": workload, "pace": { "loop": "closed" },
                "settle_ms": 10, "score_ms": 50 }),
        json!({ "ask": "meet", "target": "b", "reach": reach }),
        json!({ "ask": "count", "target": "a", "interval_ms": 1 }),
        json!({ "ask": "load", "target": "b", "workload": workload, "pace": { "loop": "closed" },
                "settle_ms": 10, "score_ms": 50 }),
        json!({ "ask": "counted", "target": "a", "from_ns": 0, "to_ns": u64::MAX }),
        json!({ "ask": "count", "target": "a", "interval_ms": 1 }),
        json!({ "ask": "counted", "target": "a", "from_ns": 0, "to_ns": 0 }),
        json!({ "ask": "clock" }),
        json!({ "ask": "stop", "target": "a" }),
        json!({ "ask": "stop", "target": "nobody" }),
        json!({ "ask": "find_program", "need": need() }),
        json!({ "ask": "make_folder", "files": { "a": "text" }, "with_linerate": false }),
        json!({ "ask": "run", "words": ["cat", "a"], "timeout_ms": 20_000, "cpus": "one" }),
    ];
    let tells = words(
        "hello facts levers boot watched found started reading met counting loaded counts counting uncounted clock stopped failed found folder ran",
    );
    let answers = agent_answers(&asks);
    assert_eq!(answers.len(), tells.len());
    for ((ask, kind), tell) in asks.iter().zip(tells).zip(answers) {
        assert_eq!(tell["tell"], kind, "{ask}: {tell}");
    }
}

/// A program that every machine has.
fn need() -> Value {
    let find = json!({
        "programs": ["cat"], "places": [], "version_arguments": ["--version"],
        "version_pattern": ") {version}", "install": {}, "home": "https://cat.example/",
    });
    json!({ "name": "cat", "title": "cat", "find": find })
}

/// A service that is built in.
fn nginx() -> Value {
    let folder = Folder::new("service");
    let words = ["service", "show", "nginx", "--json"];
    let shown = answer(&mut linerate(&folder, &words));
    serde_json::from_str::<Value>(&shown).unwrap()["service"].take()
}

/// What an agent answers to these asks, a line each.
fn agent_answers(asks: &[Value]) -> Vec<Value> {
    let folder = Folder::new("agent");
    let mut agent = linerate(&folder, &["agent"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = agent.stdin.take().unwrap();
    for ask in asks {
        writeln!(input, "{ask}").unwrap();
    }
    drop(input);
    let output = agent.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let read = |line| serde_json::from_str(line).unwrap();
    text.lines().map(read).collect()
}
