//! The flags of HTTP/2 in combination with others, and what a load says about HTTP/2.

use crate::common::load_program::{failed, load, number, parse};
use crate::common::{assert_says, refused, words};
use crate::load_http2::frames::serve_requests;
use crate::load_http2::{THREE_ON_TWO, measure_briefly};

#[test]
fn what_http_2_cannot_go_with_is_refused_by_name() {
    for (arguments, words) in [
        ("--http2 --engine uring", "--engine uring carries no HTTP/2"),
        (
            "--http2 --download",
            "'--http2' cannot be used with '--download'",
        ),
        ("--http2 --mix kinds.toml", "cannot be used with"),
        (
            "--http2 -H X-Id:{id:1..9}",
            "--http2 sends one request again and again",
        ),
        ("--streams 4", "--http2"),
        ("--http2 --streams 0", "--streams 0"),
        (
            "--http2 --streams 20k",
            "20000 requests at once on each of 64 connections",
        ),
        (
            "--http2 -H Connection:close",
            "`Connection` is about a connection of HTTP/1.1",
        ),
        (
            "--http2 -H Transfer-Encoding:chunked",
            "`Transfer-Encoding`",
        ),
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let output = load("http://127.0.0.1:9/", &arguments);
        let said = refused(&output);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn closed_and_open_loop_and_both_modes_answer_every_request() {
    let address = serve_requests(|wire, stream| wire.answer(stream));
    for mode in ["--latency", "--throughput", "--rate 400 -d 2s", "-c 3 -t 2"] {
        let mode: Vec<&str> = mode.split(' ').collect();
        let report = measure_briefly(address, &mode);
        assert_eq!(failed(&report), 0, "{report:#}");
        assert!(number(&report["answered"]) > 50, "{report:#}");
        assert_eq!(report["streams"], 4);
        assert_eq!(report["connections_opened"], report["connections"]);
        assert_eq!(report["connections_reopened"], 0, "{report:#}");
        assert!(number(&report["received_bytes"]) > 0, "{report:#}");
        let has_latency = !report["latency_us"]["service"].is_null();
        assert_eq!(has_latency, mode != ["--throughput"], "{report:#}");
    }
}

#[test]
fn a_body_goes_with_the_request_and_the_server_s_window_holds_it_back() {
    // More than the 64 KiB that a server accepts at once unless it says otherwise.
    let body = "x".repeat(100_000);
    let folder = crate::common::Folder::new("load-http2-body");
    let nginx = crate::load_http2::nginx::Nginx::start(
        &folder,
        "",
        "return 200 \"$request_method $content_length\";",
    );
    let url = format!("http://{}/", nginx.address);
    let arguments = words("--http2 --streams 4 -c 1 -d 300ms --settle 0ms --json");
    let output = load(&url, &[&arguments[..], &["--body", &body]].concat());
    let report = parse(&output);
    assert_eq!(failed(&report), 0, "{report:#}");
    assert!(number(&report["answered"]) > 0, "{report:#}");
}

#[test]
fn the_page_says_how_many_connections_and_streams_there_were() {
    let address = serve_requests(|wire, stream| wire.answer(stream));
    let output = load(&format!("http://{address}/"), &THREE_ON_TWO);
    let page = String::from_utf8(output.stdout).unwrap();
    assert_says(&page, "2 connections of HTTP/2, 3 streams each");
}
