//! Servers that do TLS wrong, and servers that do none.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;

use serde_json::Value;

use crate::common::load_program::{load, parse};
use crate::common::load_server::{OK, answer_with, serve};
use crate::common::server::Server;
use crate::common::{Folder, assert_says, errors, words};
use crate::load_tls::refusal;
use crate::load_tls::relay::{Misdeed, relay};

fn load_through(name: &str, misdeed: Misdeed) -> Value {
    let folder = Folder::new(name);
    std::fs::write(folder.path().join("long"), "x".repeat(200_000)).unwrap();
    let root = folder.path().to_str().unwrap().to_owned();
    let server = Server::start(&["--tls-self-signed", "--root", &root]);
    let address = relay(server.address.parse().unwrap(), misdeed);
    let arguments = words("--insecure -c 2 -d 200ms --settle 0ms --json");
    let output = load(&format!("https://{address}/long"), &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    let report = parse(&output);
    let bins = report["errors"].as_object().unwrap();
    let lost: u64 = bins.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(report["sent"].as_u64(), Some(lost), "{report:#}");
    report
}

#[test]
fn a_server_that_ends_in_mid_record_has_closed() {
    let report = load_through("load-tls-cut", |client, _| {
        drop(client.shutdown(Shutdown::Both));
    });
    assert!(report["errors"]["closed"].as_u64() > Some(0), "{report:#}");
    assert_eq!(report["errors"]["malformed"], 0, "{report:#}");
}

#[test]
fn a_record_that_was_changed_on_its_way_is_malformed() {
    let report = load_through("load-tls-changed", |_, piece| piece[piece.len() / 2] ^= 1);
    assert!(
        report["errors"]["malformed"].as_u64() > Some(0),
        "{report:#}"
    );
    assert_eq!(report["errors"]["closed"], 0, "{report:#}");
}

/// A server that reads the first message, sends this and then nothing more.
fn answer_hello(answer: &'static [u8]) -> String {
    let address = serve(move |mut stream, _| {
        let _ = stream.read(&mut [0; 16 * 1024]);
        let _ = stream.write_all(answer);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    format!("https://{address}/")
}

#[test]
fn an_alert_is_told_by_its_name() {
    for (alert, name) in [
        (&[21, 3, 3, 0, 2, 2, 40][..], "`handshake_failure` (40)"),
        (&[21, 3, 1, 0, 2, 2, 70], "`protocol_version` (70)"),
        (&[21, 3, 3, 0, 2, 2, 120], "`no_application_protocol` (120)"),
    ] {
        let said = refusal(&answer_hello(alert), &["--insecure"]);
        assert_says(&said, name);
    }
}

#[test]
fn who_speaks_no_tls_is_told_apart_from_who_falls_silent() {
    let in_the_clear = format!("https://{}/", answer_with(OK));
    let http = answer_hello(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    for (url, words) in [
        (http, "it speaks HTTP there and no TLS; give an http:// URL"),
        (
            answer_hello(b"220 smtp ready\r\n"),
            "something that is no TLS",
        ),
        (
            answer_hello(b""),
            "closed the connection in the middle of the TLS handshake",
        ),
        (
            answer_hello(&[22, 3, 3, 0, 90, 2, 0]),
            "in the middle of the TLS handshake",
        ),
        (in_the_clear, "timed out"),
    ] {
        // A server that answers gets the time that a busy machine takes.
        let timeout = if words == "timed out" { "500ms" } else { "10s" };
        let said = refusal(&url, &["--insecure", "--timeout", timeout]);
        assert!(
            said.contains(words) && said.contains("127.0.0.1:"),
            "{url}: {said}"
        );
    }
}
