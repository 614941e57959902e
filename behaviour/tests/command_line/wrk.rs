//! `linerate load` for users who are used to wrk.

use std::process::{Command, Output};

use crate::command_line::linerate;
use crate::common::server::Server;
use crate::common::{assert_says, refusal_of};

/// Command lines of wrk as articles and scripts have them, short enough for a test.
const COMMAND_LINES: [&str; 3] = [
    "-t2 -c100 -d1s --latency URL",
    "--threads 1 --connections 1k --duration 1 --timeout 3 URL",
    "URL -t 2 -c 8 -d 1s -H A:b --header C:d",
];

fn text(output: Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_command_line_of_wrk_does_for_linerate_load_as_it_stands() {
    let server = Server::start(&[]);
    let url = format!("http://{}/plaintext", server.address);
    for line in COMMAND_LINES {
        let line = line.replace("URL", &url);
        let words: Vec<&str> = line.split(' ').collect();
        let wrk = text(Command::new("wrk").args(&words).output().unwrap());
        assert!(wrk.contains("Requests/sec:"), "{line}: {wrk}");
        let ours = text(
            linerate(&[&["load"], &words[..]].concat())
                .output()
                .unwrap(),
        );
        assert!(
            ours.contains(" requests/s\n") && ours.contains(" MB/s "),
            "{line}: {ours}"
        );
    }
}

#[test]
fn the_latency_of_a_closed_loop_is_called_what_it_is() {
    let server = Server::start(&[]);
    let url = format!("http://{}/plaintext", server.address);
    let page = text(
        linerate(&["load", "-t1", "-c8", "-d1s", "--latency", &url])
            .output()
            .unwrap(),
    );
    for quantile in ["\n  50 % ", "\n  75 % ", "\n  90 % ", "\n  99 % "] {
        assert!(page.contains(quantile), "{quantile:?} in {page}");
    }
    for words in ["service time", "coordinated omission", "--rate"] {
        assert!(page.contains(words), "{words} in {page}");
    }
}

#[test]
fn the_transfer_is_of_the_bytes_that_came() {
    let server = Server::start(&["--message", "seventeen letters"]);
    let url = format!("http://{}/plaintext", server.address);
    let curl = Command::new("curl").args(["-si", &url]).output().unwrap();
    let answer_bytes = curl.stdout.len() as f64;
    let words = ["load", "-c4", "-d1s", "--json", &url];
    let load = text(linerate(&words).output().unwrap());
    let load: serde_json::Value = serde_json::from_str(&load).unwrap();
    let received = load["received_bytes"].as_f64().unwrap();
    let answered = load["answered_in_window"].as_f64().unwrap();
    // The bytes of an answer may arrive before the window opens while the answer is counted within
    // it.
    let apart = (received - answered * answer_bytes).abs();
    assert!(
        apart <= 8.0 * answer_bytes,
        "{received} bytes of {answered} answers"
    );
}

#[test]
fn a_lua_script_is_refused_with_what_to_say_instead() {
    let words = ["load", "-s", "post.lua", "http://127.0.0.1:1/"];
    let error = refusal_of(&mut linerate(&words));
    assert_says(&error, "--body @FILE");
}

#[test]
fn a_k6_script_is_refused_with_what_to_say_instead() {
    let error = refusal_of(&mut linerate(&["load", "test.js"]));
    assert_says(&error, "k6");
    assert_says(&error, "--mix FILE");
}
