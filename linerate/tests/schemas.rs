//! The schemas of `docs/schema`: strict, explained, and true of what the program prints.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

mod common;
mod load_program;
mod load_server;
#[path = "common/schema.rs"]
mod schema;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use common::{Folder, answer, linerate};
use load_program::load_json;
use load_server::{OK, answer_with};
use serde_json::{Value, json};

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(schema::folder()).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let files = entries.map(|entry| name(entry).into_string().unwrap());
    files
        .filter_map(|file| file.strip_suffix(".json").map(str::to_owned))
        .collect()
}

/// Calls `look` with every part of a schema and where it stands.
fn walk(part: &Value, place: &str, look: &mut impl FnMut(&Value, &str)) {
    look(part, place);
    if let Some(object) = part.as_object() {
        for (key, inner) in object {
            walk(inner, &format!("{place}/{key}"), look);
        }
    }
    for (index, inner) in part.as_array().into_iter().flatten().enumerate() {
        walk(inner, &format!("{place}/{index}"), look);
    }
}

#[test]
fn every_property_of_every_schema_is_explained_and_none_may_come_unannounced() {
    let names = names();
    assert!(names.len() > 4, "{names:?}");
    for name in names {
        let text = schema::read(&name);
        assert!(text["$schema"].as_str().unwrap().contains("2020-12"));
        walk(&text, &name, &mut |part, place| {
            let Some(properties) = part["properties"].as_object() else {
                return;
            };
            for (property, of) in properties {
                let explained = of["description"].as_str().unwrap_or_default();
                assert!(!explained.is_empty(), "{place}: `{property}`");
            }
            let closed = part["additionalProperties"] == false
                || part["unevaluatedProperties"] == false
                // These are open for others that add to them and close them.
                || place.contains("_fields");
            assert!(closed, "{place} lets unknown properties in");
        });
    }
}

#[test]
fn a_load_is_of_its_shape_in_each_mode() {
    let short = ["-d", "100ms", "-c", "2", "--settle", "0ms"];
    let mixed = ["-H", "X-Id: {id:1..9}"];
    for mode in [&[][..], &["--rate", "200"], &["--throughput"], &mixed] {
        schema::holds(
            "load",
            &load_json(answer_with(OK), &[&short, mode].concat()),
        );
    }
    let broken = answer_with(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".as_slice());
    schema::holds("load", &load_json(broken, &short));
}

#[test]
fn the_studies_are_of_their_shapes_in_a_list_and_alone() {
    let folder = Folder::new("studies");
    let json = |words: &[&str]| {
        let text = answer(&mut linerate(&folder, words));
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let list = json(&["study", "list", "--json"]);
    schema::holds("study-list", &list);
    for study in list["studies"].as_array().unwrap() {
        let name = study["name"].as_str().unwrap();
        let shown = json(&["study", "show", name, "--json"]);
        schema::holds("study-show", &shown);
        assert_eq!(shown["study"]["title"], study["title"]);
    }
}

#[test]
fn the_ready_line_is_of_its_shape_and_names_the_port_that_was_taken() {
    let folder = Folder::new("ready");
    let mut serve = linerate(
        &folder,
        &["serve", "--listen", "0", "--json", "--tls-self-signed"],
    )
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    let mut line = String::new();
    let output = serve.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    schema::holds("serve", &ready);
    let connected = TcpStream::connect(ready["listening"].as_str().unwrap());
    let port = connected.map(|stream| stream.peer_addr().unwrap().port());
    serve.kill().unwrap();
    serve.wait().unwrap();
    assert_eq!(ready["port"], port.unwrap());
}

#[test]
fn the_end_of_a_server_that_copies_nothing_is_of_its_shape() {
    let folder = Folder::new("serve-end");
    let message = "x".repeat(65_536);
    let flags = ["serve", "--listen", "0", "--json", "--zero-copy", "on"];
    let mut command = linerate(&folder, &flags);
    command.args(["--message", &message]);
    let mut serve = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(serve.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let mut stream = TcpStream::connect(next()["listening"].as_str().unwrap()).unwrap();
    stream
        .write_all(b"GET /plaintext HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with(&message));
    sys::process::terminate(&serve).unwrap();
    let end = next();
    schema::holds("serve-end", &end);
    assert!(end["zero_copy"]["sends"].as_u64() >= Some(1), "{end}");
    assert!(serve.wait().unwrap().success());
}

#[test]
fn what_a_study_asks_of_an_agent_and_what_it_tells_are_of_their_shapes() {
    let workload = json!({ "path": "/json", "connections": 2, "threads": 1 });
    let elsewhere = answer_with(OK);
    let reach = json!({ "address": elsewhere, "speaks": { "http": { "path": "/" } } });
    let asks = [
        json!({ "ask": "hello", "protocol": model::message::PROTOCOL }),
        json!({ "ask": "facts", "full": true }),
        json!({ "ask": "levers", "wanted": ["conntrack", "congestion-control=reno"],
                "first": ["conntrack"], "on_host": false }),
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
    let tells = [
        "hello",
        "facts",
        "levers",
        "boot",
        "watched",
        "found",
        "started",
        "reading",
        "met",
        "counting",
        "loaded",
        "counts",
        "counting",
        "uncounted",
        "clock",
        "stopped",
        "failed",
        "found",
        "folder",
        "ran",
    ];
    let answers = agent_answers(&asks);
    assert_eq!(answers.len(), tells.len());
    for ((ask, kind), tell) in asks.iter().zip(tells).zip(answers) {
        schema::holds("ask", ask);
        schema::holds("tell", &tell);
        assert_eq!(tell["tell"], kind, "{ask}: {tell}");
        // What the program itself would send is the same.
        let read: model::Ask = serde_json::from_value(ask.clone()).unwrap();
        schema::holds("ask", &serde_json::to_value(&read).unwrap());
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

#[test]
fn a_run_folder_and_its_judgement_are_of_their_shapes() {
    let folder = Folder::new("schemas");
    let arguments = ["--smoke", "--yes", "--full", "--json", "--out", "run"];
    let judgement = answer(&mut linerate(&folder, &arguments));
    schema::holds("judgement", &serde_json::from_str(&judgement).unwrap());
    let compared = answer(&mut linerate(
        &folder,
        &["study", "compare", "run", "run", "--json"],
    ));
    schema::holds("study-compare", &serde_json::from_str(&compared).unwrap());
    for file in folder.names("run") {
        let text = folder.text(&format!("run/{file}"));
        match file.as_str() {
            "run.json" => schema::holds("run", &serde_json::from_str(&text).unwrap()),
            "blocks.jsonl" => blocks_hold(&text),
            other => assert_eq!(other, "report.html", "a file without a schema"),
        }
    }
}

/// One block of each phase: they differ in what a block has.
fn blocks_hold(text: &str) {
    for phase in ["throughput", "latency"] {
        let of_phase = format!("\"phase\":\"{phase}\"");
        let line = text.lines().find(|line| line.contains(&of_phase)).unwrap();
        schema::holds("block", &serde_json::from_str(line).unwrap());
    }
}

#[test]
#[should_panic(expected = "planted")]
fn a_property_that_no_schema_knows_is_found() {
    let short = ["-d", "100ms", "-c", "2", "--settle", "0ms"];
    let mut load = load_json(answer_with(OK), &short);
    load["planted"] = Value::Null;
    schema::holds("load", &load);
}
