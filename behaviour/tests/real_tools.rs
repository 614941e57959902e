//! The tools that people have: each gets right answers from `linerate serve`.

use std::io::{Read as _, Write as _};
use std::process::{Command, Output, Stdio};

use crate::common::assert_says;
use crate::common::server::Server;

const JSON: &str = r#"{"message":"Hello, World!"}"#;

/// Runs a tool, which must succeed, and returns what it printed.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    well(program, &output)
}

fn well(program: &str, output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {words}{errors}");
    words
}

/// The number that follows a word at the beginning of a line.
fn number_after(text: &str, word: &str) -> u64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(word));
    let line = line.unwrap_or_else(|| panic!("no `{word}` in {text}"));
    let number = line.split_whitespace().next().unwrap();
    number.parse().unwrap()
}

fn json_url(server: &Server) -> String {
    format!("http://{}/json", server.address)
}

#[test]
fn wrk_gets_nothing_but_right_answers() {
    let server = Server::start(&[]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrk_answers.lua");
    let url = json_url(&server);
    let text = said("wrk", &["-t1", "-c8", "-d1s", "-s", script, &url]);
    assert_says(&text, " requests in ");
    assert!(!text.contains(" 0 requests in "), "{text}");
    for trouble in ["Non-2xx", "Socket errors", "WRONG ANSWER"] {
        assert!(!text.contains(trouble), "{text}");
    }
}

fn assert_ab_is_content(text: &str) {
    assert_eq!(number_after(text, "Complete requests:"), 500, "{text}");
    assert_eq!(number_after(text, "Failed requests:"), 0, "{text}");
    let bytes = number_after(text, "Document Length:");
    assert_eq!(bytes, JSON.len() as u64, "{text}");
    assert!(!text.contains("Non-2xx"), "{text}");
}

#[test]
fn ab_gets_right_answers_on_a_connection_for_each_request() {
    let server = Server::start(&[]);
    let text = said("ab", &["-q", "-n", "500", "-c", "8", &json_url(&server)]);
    assert_ab_is_content(&text);
    assert!(!text.contains("Keep-Alive requests"), "{text}");
}

#[test]
fn ab_gets_right_answers_on_connections_that_it_asks_to_keep() {
    let server = Server::start(&[]);
    let url = json_url(&server);
    let text = said("ab", &["-q", "-k", "-n", "500", "-c", "8", &url]);
    assert_ab_is_content(&text);
    assert_eq!(number_after(&text, "Keep-Alive requests:"), 500, "{text}");
}

#[test]
fn h2load_gets_right_answers_over_http_1() {
    let server = Server::start(&[]);
    let url = json_url(&server);
    let text = said(
        "h2load",
        &["--h1", "-n", "1000", "-c", "8", "-t", "1", &url],
    );
    assert_says(&text, "1000 succeeded, 0 failed, 0 errored, 0 timeout");
    assert_says(&text, "1000 2xx, 0 3xx, 0 4xx, 0 5xx");
    let body_bytes = format!("({}) data", 1000 * JSON.len());
    assert_says(&text, &body_bytes);
}

/// Runs curl and returns what it shows: head and body.
fn curl(arguments: &[&str]) -> String {
    said(
        "curl",
        &[&["-s", "-S", "-i", "--max-time", "20"], arguments].concat(),
    )
}

#[test]
fn curl_gets_its_answer_over_http_1_0_and_the_end_of_the_connection() {
    let server = Server::start(&[]);
    let url = json_url(&server);
    let text = curl(&["--http1.0", &url]);
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(text.ends_with(JSON), "{text}");
    assert!(
        text.to_lowercase().contains("\r\nconnection: close\r\n"),
        "{text}"
    );
}

#[test]
fn curl_keeps_its_connection_for_a_second_request() {
    let server = Server::start(&[]);
    let url = json_url(&server);
    let made = ["-w", "\n%{http_code} made %{num_connects}\n"];
    let text = curl(&[&made[..], &[&url, &url]].concat());
    assert_eq!(text.matches(JSON).count(), 2, "{text}");
    assert_says(&text, "200 made 1\n");
    assert_says(&text, "200 made 0\n");
}

#[test]
fn curl_gets_a_head_without_a_body() {
    let server = Server::start(&[]);
    let text = curl(&["--head", &json_url(&server)]);
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    let length = format!("content-length: {}\r\n", JSON.len());
    assert!(text.to_lowercase().contains(&length), "{text}");
}

/// curl no longer sends HTTP requests ahead, but as a telnet client it sends what it is given. That
/// way it also shows what follows the answer to HEAD, which it drops in HTTP.
#[test]
fn requests_that_curl_sends_all_at_once_are_answered_in_order() {
    let server = Server::start(&[]);
    let url = format!("telnet://{}", server.address);
    let mut curl = Command::new("curl")
        .args(["-s", "--no-buffer", "--max-time", "20", &url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let requests = "GET /json HTTP/1.1\r\nHost: a\r\n\r\n\
                    HEAD /json HTTP/1.1\r\nHost: a\r\n\r\n\
                    GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n\
                    GET /json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let input = curl.stdin.as_mut().unwrap();
    input.write_all(requests.as_bytes()).unwrap();
    let mut output = curl.stdout.take().unwrap();
    let mut text = String::new();
    while text.matches(JSON).count() < 2 {
        let mut piece = [0; 4096];
        let read = output.read(&mut piece).unwrap();
        assert!(read > 0, "curl ended too early: {text}");
        text += std::str::from_utf8(&piece[..read]).unwrap();
    }
    // As a telnet client, curl does not end when the server closes.
    curl.kill().unwrap();
    curl.wait().unwrap();
    let bodies: Vec<&str> = text
        .split("HTTP/1.1 200 OK\r\n")
        .skip(1)
        .map(|answer| answer.split("\r\n\r\n").nth(1).unwrap())
        .collect();
    assert_eq!(bodies, [JSON, "", "Hello, World!", JSON], "{text}");
}

/// The answer does not depend on the body, so it comes at once and the body is not asked for
/// (RFC 9110 §10.1.1). If curl had to wait, its time limit would end it before it sent its body.
#[test]
fn curl_that_waits_for_leave_to_send_a_body_is_answered_without_it() {
    let server = Server::start(&[]);
    let url = json_url(&server);
    let expecting = ["-H", "Expect: 100-continue", "--expect100-timeout", "60"];
    let posted = curl(&[&expecting[..], &["-d", "a body", &url]].concat());
    assert!(posted.starts_with("HTTP/1.1 405 "), "{posted}");
    let got = curl(&[&expecting[..], &["-X", "GET", "-d", "a body", &url]].concat());
    assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{got}");
    assert!(got.ends_with(JSON), "{got}");
}
