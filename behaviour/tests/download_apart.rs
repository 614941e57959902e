//! `linerate download` with its two ends apart: one serves, the other downloads.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

use crate::common::listener::Listener;
use crate::common::processes::signal;
use crate::common::{Folder, answer, assert_says, linerate, refusal_of};
use crate::download::{CURL, SHORT, folder, number, refused};

/// A serving end of the file in a folder, on a free port.
fn serving(folder: &Folder, flags: &[&str]) -> Listener {
    let words = [&["download", "file", "--listen", "0"], flags].concat();
    Listener::of(&mut linerate(folder, &words))
}

fn from(folder: &Folder, address: &str, flags: &[&str]) -> Value {
    let words = [
        &["download", "--from", address, "--json"],
        &SHORT[..],
        flags,
    ];
    serde_json::from_str(&answer(&mut linerate(folder, &words.concat()))).unwrap()
}

#[test]
fn an_end_that_serves_has_its_file_downloaded_by_one_client_after_another_until_it_is_stopped() {
    let folder = folder("apart");
    let mut end = serving(&folder, &["--tls", "--record-size", "4096"]);
    for flags in [&["-c", "2"][..], &["--client", CURL]] {
        let said = from(&folder, &end.address, flags);
        assert_eq!(said["scheme"], "https");
        assert_eq!(said["file_bytes"], 1 << 20, "{said:#}");
        let costs = ["server", "client"].map(|side| number(&said[side]["cpu_seconds_per_gb"]));
        assert!(costs.iter().sum::<f64>() > 0.0, "{said:#}");
        assert!(number(&said["acknowledged_bytes"]) >= 1e7, "{said:#}");
        // Over loopback it knows that both ends are on this machine.
        assert!(said["machine_cpu_seconds_per_gb"].is_object(), "{said:#}");
        let path = &said["memory_crossings"]["path"];
        assert_eq!(path, "read, records made by the server");
        assert_says(&end.line(), ": served");
    }
    signal("INT", end.child.id());
    assert_eq!(end.child.wait().unwrap().code(), Some(130));
}

#[test]
fn an_end_that_hears_nonsense_says_so_and_serves_the_next() {
    let folder = folder("apart-nonsense");
    let mut end = serving(&folder, &["--server", "nginx"]);
    let deep = "[".repeat(5000);
    for nonsense in ["nonsense", "{}", "\"Open\"", "\"\\u001b[2J\"", &deep] {
        let mut line = TcpStream::connect(&end.address).unwrap();
        writeln!(line, "{nonsense}").unwrap();
        assert_eq!(BufReader::new(line).lines().count(), 0, "{nonsense}");
        let said = end.line();
        assert!(
            said.starts_with("127.0.0.1:") && !said.ends_with("served") && !said.contains('\u{1b}'),
            "{said}"
        );
    }
    let said = from(&folder, &end.address, &[]);
    assert_eq!(said["memory_crossings"], Value::Null);
}

/// A serving end that answers each request with the next of these lines.
fn liar(lines: Vec<String>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut line, _) = listener.accept().unwrap();
        let mut asks = BufReader::new(line.try_clone().unwrap()).lines();
        for said in lines {
            if asks.next().is_none() || writeln!(line, "{said}").is_err() {
                break;
            }
        }
    });
    address
}

fn served(port: u16, path: &str) -> Value {
    json!({ "Ok": { "server_title": "a \u{1b}[31mserver", "server_version": null, "way": "a new way", "is_tls": false,
        "boot_id": "", "file_bytes": 5, "port": port, "path": path } })
}

#[test]
fn what_a_far_end_says_is_bounded_and_shown_plain() {
    let folder = folder("apart-lies");
    // A port on which only root could listen.
    let port = 1;
    let failed = json!({ "Err": { "what": "no \u{1b}[2Jway", "advice": "a\nb" } });
    for (said, piece) in [
        ("SSH-2.0-OpenSSH_9.2".to_owned(), "expected value"),
        ("{\"Ok\":{}}".to_owned(), "missing field"),
        (
            served(0, "/file").to_string(),
            "nothing that can be asked for",
        ),
        (
            served(port, "/a b").to_string(),
            "nothing that can be asked for",
        ),
        (
            served(port, "file").to_string(),
            "nothing that can be asked for",
        ),
        (served(port, "/file").to_string(), "Connection refused"),
        (failed.to_string(), "no "),
    ] {
        let address = liar(vec![said]).to_string();
        let words = ["download", "--from", &address];
        let refusal = refusal_of(&mut linerate(&folder, &words));
        assert_says(&refusal, piece);
        assert!(!refusal.contains('\u{1b}'), "{refusal:?}");
    }
    let gone = liar(Vec::new()).to_string();
    let refusal = refusal_of(&mut linerate(&folder, &["download", "--from", &gone]));
    assert_says(&refusal, "it has ended, or says nothing");
}

#[test]
fn figures_that_cannot_be_are_an_error_and_no_result() {
    let folder = folder("apart-figures");
    let real = serving(&folder, &[]);
    let reading = |window_ns: u64, busy_share: f64| {
        json!({ "Ok": { "window_ns": window_ns, "sending": { "connections": 1, "changes": 0, "acked_bytes": 20_000_000,
            "busy_us": 1, "rwnd_limited_us": 0, "sndbuf_limited_us": 0 },
            "side": { "cpus": [0], "cpu_ns": 1, "busy_share": busy_share },
            "others_share": null, "dram_bytes": null } })
    };
    // The liar repeats what the real end serves, and reports so many connections that all seem to
    // have begun.
    let mut line = TcpStream::connect(&real.address).unwrap();
    writeln!(line, "{{\"Served\":{{\"patience_ms\":1000}}}}").unwrap();
    let mut lines = BufReader::new(line).lines();
    let offered = lines.next().unwrap().unwrap();
    drop(lines);
    for (last, is_accepted) in [
        (reading(100_000_000, 0.5), true),
        (reading(100_000_000, 7.0), false),
        (reading(1 << 60, 0.5), false),
    ] {
        let many = json!({ "Ok": 1000 }).to_string();
        let nothing = json!({ "Ok": null }).to_string();
        let enough = json!({ "Ok": true }).to_string();
        let lines = [
            offered.clone(),
            many.clone(),
            many.clone(),
            many,
            nothing,
            enough,
            last.to_string(),
        ];
        let address = liar(lines.into()).to_string();
        let words = [&["download", "--from", &address], &SHORT[..]].concat();
        let output = linerate(&folder, &words).output().unwrap();
        assert_eq!(output.status.success(), is_accepted, "{output:?}");
        if !is_accepted {
            assert_says(
                &crate::common::errors(&output),
                "reports impossible figures",
            );
        }
    }
}

#[test]
fn a_flag_that_an_end_would_ignore_is_refused_and_so_is_a_machine_that_nobody_vouched_for() {
    let folder = folder("apart-refused");
    std::fs::write(folder.path().join("another"), "").unwrap();
    for (words, piece) in [
        (&["file", "--listen", "unix:/tmp/s"][..], "goes over TCP"),
        (
            &["file", "--listen", "0.0.0.0:0"],
            "into a folder of its own",
        ),
        (&["--from", "192.0.2.1"], "add --mine 192.0.2.1"),
        (
            &["--from", "127.0.0.1", "--duration", "2h"],
            "an hour at most",
        ),
        (&["--from", "127.0.0.1", "--duration", "0s"], "--duration 0"),
        (&["file", "--hosts", "hosts.toml"], "goes with --from"),
        (
            &["--from", "127.0.0.1:1"],
            "start `linerate download FILE --listen",
        ),
        (&["--from", "127.0.0.1", "--tls"], "cannot be used with"),
        (&["file", "--listen", "0", "-c", "4"], "cannot be used with"),
    ] {
        assert_says(&refused(&folder, words), piece);
    }
}
