//! What is reported about each kind of request.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::load_program::{load, parse};
use crate::common::server::Server;
use crate::common::{Folder, assert_says, errors};
use crate::load_mix::recording::{Recording, ok};
use crate::load_mix::{SHORT, count, mixed, mixed_json};

const TWO: &str = r#"
    [[request]]
    name = "often"
    path = "/a"
    weight = 3

    [[request]]
    path = "/missing?token=secret"
"#;

/// A server without the page `/missing`.
fn without_a_page() -> Recording {
    Recording::start(|request| match request.line().contains("/missing") {
        true => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
        false => ok("here"),
    })
}

#[test]
fn each_kind_has_its_count_its_share_and_its_errors() {
    let folder = Folder::new("mix-kinds");
    let report = mixed_json(&folder, &without_a_page().url, TWO, &["-c", "4", "-t", "2"]);
    let kinds = report["mix"]["kinds"].as_array().unwrap();
    let names: Vec<&str> = kinds
        .iter()
        .map(|kind| kind["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["often", "GET /missing"]);
    for (of, whole) in [
        ("sent", &report["sent"]),
        ("answered", &report["answered"]),
        ("status", &report["errors"]["status"]),
        ("unfinished", &report["errors"]["unfinished"]),
    ] {
        let sum = count(&report, 0, of) + count(&report, 1, of);
        assert_eq!(whole.as_u64(), Some(sum), "{of}: {report:#}");
    }
    assert_eq!(count(&report, 0, "status"), 0);
    assert_eq!(count(&report, 1, "answered"), 0);
    assert!(count(&report, 1, "status") > 10);
    let share = kinds[0]["share"].as_f64().unwrap();
    // Chance alone does not move a share of three in four this far among some thousands.
    assert!((0.65..0.85).contains(&share), "{report:#}");
    let told = report["notes"].to_string();
    assert_says(&told, "`GET /missing` answers 404");
}

#[test]
fn the_page_has_a_line_for_each_kind_and_no_query() {
    let folder = Folder::new("mix-page");
    let output = mixed(&folder, &without_a_page().url, TWO, &SHORT);
    let page = String::from_utf8(output.stdout).unwrap();
    assert_says(&page, "2 kinds of request (");
    assert_says(&page, "  often\n");
    assert_says(&page, "  GET /missing\n");
    assert!(!page.contains("secret"), "{page}");
}

#[test]
fn several_urls_come_equally_often_and_one_that_stands_there_twice_twice_as_often() {
    let server = Recording::echo();
    let url = |path: &str| format!("{}{path}", server.url);
    let more = [&url("/b"), &url("/b"), "-c", "2", "--json"];
    let output = load(&url("/a"), &[&more[..], &SHORT].concat());
    assert!(output.status.success(), "{}", errors(&output));
    let report = parse(&output);
    let kinds = report["mix"]["kinds"].as_array().unwrap();
    assert_eq!(kinds.len(), 2, "{report:#}");
    assert_eq!(
        (&kinds[1]["name"], &kinds[1]["weight"]),
        (&"GET /b".into(), &2.into())
    );
    let (one, two) = (count(&report, 0, "sent"), count(&report, 1, "sent"));
    assert!(one > 2 && two > one, "{one} {two}");
}

#[test]
fn a_body_that_changes_is_an_error_of_its_kind_alone() {
    let answers = AtomicU32::new(0);
    let server = Recording::start(move |request| match request.line() {
        "GET /a" => ok("always the same"),
        _ if answers.fetch_add(1, Ordering::Relaxed) < 10 => ok("as it was"),
        _ => ok("otherwise"),
    });
    let requests = "[[request]]\npath = \"/a\"\n[[request]]\npath = \"/b\"\n";
    let folder = Folder::new("mix-bodies");
    let report = mixed_json(&folder, &server.url, requests, &["-c", "2", "-d", "1s"]);
    assert_eq!(count(&report, 0, "body"), 0, "{report:#}");
    assert!(count(&report, 1, "body") > 0, "{report:#}");
}

#[test]
fn a_kind_that_is_not_answered_in_time_is_the_one_whose_timeouts_are_counted() {
    let asked = AtomicU32::new(0);
    let server = Recording::start(move |request| match request.line() {
        // Two looks are answered, and nothing after them.
        "GET /slow" if asked.fetch_add(1, Ordering::Relaxed) >= 2 => Vec::new(),
        _ => ok("here"),
    });
    let requests = "[[request]]\npath = \"/a\"\n[[request]]\npath = \"/slow\"\n";
    let folder = Folder::new("mix-slow");
    let arguments = ["-c", "8", "--timeout", "1s", "-d", "3s"];
    let report = mixed_json(&folder, &server.url, requests, &arguments);
    let timeouts = [0, 1].map(|kind| count(&report, kind, "timeout"));
    assert!(timeouts[1] > timeouts[0], "{report:#}");
    assert_eq!(count(&report, 1, "answered"), 0, "{report:#}");
}

#[test]
fn methods_headers_and_bodies_are_those_of_the_file() {
    let server = Recording::start(|request| {
        let has = |header: &str| request.head.contains(header);
        let is_right = match request.line() {
            "PUT /file" => request.body == b"{id:1..9} \xff\0" && has("\r\nA: all"),
            "HEAD /head" => has("\r\nX-Id: 5\r\n") && has("\r\nA: all") && request.body.is_empty(),
            _ => false,
        };
        if is_right {
            ok("right")
        } else {
            b"HTTP/1.1 400 Wrong\r\nContent-Length: 0\r\n\r\n".to_vec()
        }
    });
    let folder = Folder::new("mix-file");
    std::fs::write(folder.path().join("body"), b"{id:1..9} \xff\0").unwrap();
    let requests = r#"
        [[request]]
        path = "/file"
        method = "put"
        body_file = "body"

        [[request]]
        path = "/head"
        method = "HEAD"
        headers = { X-Id = "{id:5..5}" }
    "#;
    let report = mixed_json(&folder, &server.url, requests, &["-H", "A: all", "-c", "3"]);
    for kind in [0, 1] {
        assert!(count(&report, kind, "answered") > 20, "{report:#}");
        let unfinished = count(&report, kind, "unfinished");
        assert_eq!(
            count(&report, kind, "sent"),
            count(&report, kind, "answered") + unfinished
        );
    }
}

#[test]
fn kinds_are_mixed_over_tls_and_in_a_sweep_too() {
    let secured = Server::start(&["--tls-self-signed"]);
    let url = format!("https://{}", secured.address);
    let requests =
        "[[request]]\npath = \"/json\"\n[[request]]\npath = \"/plaintext?{n:1..99999}\"\n";
    let folder = Folder::new("mix-tls");
    let report = mixed_json(&folder, &url, requests, &["--insecure", "-c", "3"]);
    for kind in [0, 1] {
        assert!(count(&report, kind, "answered") > 20, "{report:#}");
    }
    let sweep = ["--sweep", "connections=1..2", "--rounds", "2", "--json"];
    let output = mixed(
        &folder,
        &url,
        requests,
        &[&["--insecure"], &sweep[..], &SHORT].concat(),
    );
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(parse(&output)["levels"].as_array().unwrap().len(), 2);
}
