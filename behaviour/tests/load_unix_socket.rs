//! A load over a Unix socket: `linerate load --unix-socket PATH`.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::process::Output;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::load_program::{failed, load, parse};
use crate::common::nginx::Nginx;
use crate::common::{Folder, assert_says, errors, refused, words};

const URL: &str = "http://some.host/a/path?with=query";
const SHORT: [&str; 7] = ["-c", "4", "-d", "200ms", "--settle", "20ms", "--json"];

/// Starts a server on a socket that answers every request with `answer`; returns where the first
/// head of each connection arrives.
fn serve(path: &Path, answer: &'static [u8]) -> Receiver<String> {
    let listener = UnixListener::bind(path).unwrap();
    let (seen, heads) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = seen.clone();
            thread::spawn(move || converse(stream, answer, &seen));
        }
    });
    heads
}

/// Requests come one at a time, and each in one piece.
fn converse(mut stream: UnixStream, answer: &[u8], seen: &Sender<String>) {
    let mut piece = [0; 4096];
    let mut is_first = true;
    while let Some(count) = stream.read(&mut piece).ok().filter(|count| *count > 0) {
        let head = String::from_utf8_lossy(&piece[..count]).into_owned();
        assert!(head.ends_with("\r\n\r\n"), "{head}");
        if std::mem::take(&mut is_first) {
            let _ = seen.send(head);
        }
        if stream.write_all(answer).is_err() || answer.starts_with(b"HTTP/1.0") {
            return;
        }
    }
}

fn load_at(path: &Path, arguments: &[&str]) -> Output {
    let socket = ["--unix-socket", path.to_str().unwrap()];
    load(URL, &[&socket[..], arguments].concat())
}

#[test]
fn either_engine_loads_a_socket_and_the_url_gives_host_and_path() {
    let folder = Folder::new("unix-engines");
    let path = folder.path().join("s");
    let heads = serve(&path, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    for flags in [
        &["--engine", "epoll"][..],
        &["--engine", "uring"],
        &["--engine", "uring", "--throughput"],
        &["--rate", "500"],
    ] {
        let output = load_at(&path, &[&SHORT[..], flags].concat());
        assert!(output.status.success(), "{}", errors(&output));
        let report = parse(&output);
        assert_eq!(report["address"], format!("unix:{}", path.display()));
        assert_eq!(report["connections_opened"], 4, "{flags:?} {report:#}");
        assert_eq!(report["connections_reopened"], 0, "{flags:?} {report:#}");
        assert!(report["answered"].as_u64() > Some(10), "{report:#}");
        assert_eq!(failed(&report), 0, "{flags:?} {report:#}");
    }
    // Each load has two looks and four connections.
    for _ in 0..4 * (2 + 4) {
        let head = heads.recv_timeout(Duration::from_secs(20)).unwrap();
        let expected = "GET /a/path?with=query HTTP/1.1\r\nHost: some.host\r\n\r\n";
        assert_eq!(head, expected);
    }
    assert!(heads.try_recv().is_err());
}

#[test]
fn a_socket_that_is_closed_after_each_answer_is_opened_again() {
    let folder = Folder::new("unix-close");
    let path = folder.path().join("s");
    let _heads = serve(&path, b"HTTP/1.0 200 OK\r\n\r\nok");
    for engine in ["epoll", "uring"] {
        let output = load_at(&path, &[&SHORT[..], &["--engine", engine]].concat());
        let report = parse(&output);
        assert_eq!(failed(&report), 0, "{engine}: {report:#}");
        let (answered, reopened) = (&report["answered"], &report["connections_reopened"]);
        assert!(answered.as_u64() > Some(3), "{report:#}");
        assert!(
            reopened.as_u64().unwrap() + 4 >= answered.as_u64().unwrap(),
            "{report:#}"
        );
    }
}

#[test]
fn a_sweep_reads_the_cpu_time_of_the_server_behind_the_socket() {
    let folder = Folder::new("unix-sweep");
    let path = folder.path().join("s");
    let _heads = serve(&path, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let sweep = words("--sweep connections=1..2 --rounds 2 -d 100ms --settle 10ms --json");
    let report = parse(&load_at(&path, &sweep));
    // A block in which nothing was answered leaves its level without a figure.
    let levels = report["levels"].as_array().unwrap();
    let cpu = |level: &Value| level["server_cpu_us_per_request"]["value"].as_f64();
    assert!(
        levels.iter().any(|level| cpu(level) > Some(0.0)),
        "{report:#}"
    );
}

#[test]
fn what_is_no_socket_is_refused_with_what_to_do() {
    let folder = Folder::new("unix-refused");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("file"), "").unwrap();
    let _datagrams = UnixDatagram::bind(at("datagrams")).unwrap();
    drop(UnixListener::bind(at("left")).unwrap());
    let long = "l".repeat(108);
    for (path, reason) in [
        (at("missing"), "is the server running"),
        (at("file"), "is a file, not a socket"),
        (at(""), "is a folder, not a socket"),
        (at("left"), "the server that made it has ended"),
        (at("datagrams"), "HTTP takes a stream"),
        (long.into(), "at most 107 bytes"),
        ("".into(), "--unix-socket"),
    ] {
        let told = refused(&load_at(&path, &SHORT));
        assert!(told.contains(reason), "{}: {told}", path.display());
    }
}

#[test]
fn what_is_about_tcp_or_other_hosts_alone_is_refused_by_name() {
    let folder = Folder::new("unix-tcp");
    let path = folder.path().join("s");
    for (flags, name) in [
        (&["--download"][..], "--download"),
        (&["--mine", "some.host"], "--mine"),
    ] {
        let told = refused(&load_at(&path, flags));
        assert_says(&told, name);
        assert_says(&told, "--unix-socket");
    }
}

#[test]
fn nginx_answers_on_a_socket() {
    let folder = Folder::new("unix-nginx");
    let path = folder.path().join("s");
    let server = format!(
        "listen unix:{}; server_name some.host; location = /a/path {{ return 200 \"hello\\n\"; }}",
        path.display()
    );
    let _nginx = Nginx::start(&folder, &server, || UnixStream::connect(&path).is_ok());
    for engine in ["epoll", "uring"] {
        let output = load_at(&path, &[&SHORT[..], &["--engine", engine]].concat());
        let report = parse(&output);
        assert_eq!(failed(&report), 0, "{engine}: {report:#}");
        assert!(report["answered"].as_u64() > Some(50), "{report:#}");
    }
}
