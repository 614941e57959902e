//! `linerate load --download`: long bodies from our own server and from servers that lie.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::load_program::{load, parse};
use crate::common::load_server::{OK, answer_with, read_request, serve};
use crate::common::server::Server;
use crate::common::{Folder, assert_says, refused};

/// Length of a file that has no block on disk.
const LONG_BYTES: u64 = 128 * 1024 * 1024;
const LONG: [&str; 6] = ["--download", "-d", "500ms", "--settle", "100ms", "--json"];
const SHORT: [&str; 4] = ["--download", "--settle", "0ms", "--json"];

/// Our server with a file of `LONG_BYTES`.
fn serve_long(folder: &Folder, flags: &[&str]) -> Server {
    let file = File::create(folder.path().join("long")).unwrap();
    file.set_len(LONG_BYTES).unwrap();
    let root = folder.path().to_str().unwrap().to_owned();
    Server::start(&[&["--root", &root], flags].concat())
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn a_body_without_an_end_in_sight_is_left_when_the_window_is_over() {
    let folder = Folder::new("download-endless");
    let server = serve_long(&folder, &[]);
    let file = File::options().write(true).open(folder.path().join("long"));
    file.unwrap().set_len(256 * LONG_BYTES).unwrap();
    let url = format!("http://{}/long", server.address);
    // Several senders to one receiver, so that its sockets are never empty.
    let output = load(&url, &[&LONG[..], &["-c", "4"]].concat());
    let report = parse(&output);
    assert!(output.status.success(), "{report:#}");
    assert_eq!(report["answered"], 0, "{report:#}");
    assert!(number(&report["received_bytes"]) > 0.0, "{report:#}");
    let window_seconds = number(&report["window_seconds"]);
    assert!((0.1..60.0).contains(&window_seconds), "{report:#}");
}

#[test]
fn a_long_file_comes_with_the_cost_of_each_side_and_what_held_the_sender_back() {
    let folder = Folder::new("download-long");
    for (scheme, flags, trust) in [
        ("http", &[][..], &[][..]),
        ("https", &["--tls-self-signed"], &["--insecure"]),
    ] {
        let server = serve_long(&folder, flags);
        let url = format!("{scheme}://{}/long", server.address);
        let length = LONG_BYTES.to_string();
        let output = load(&url, &[&LONG, trust, &["--length", &length]].concat());
        let report = parse(&output);
        assert!(output.status.success(), "{report:#}");
        assert_eq!(report["connections"], 1);
        assert_eq!(report["body_bytes"], LONG_BYTES);
        assert_eq!(report["tls"].is_null(), scheme == "http");
        assert!(
            number(&report["throughput_gbit_per_second"]) > 0.0,
            "{report:#}"
        );
        assert!(
            number(&report["client_cpu_seconds_per_gb"]) > 0.0,
            "{report:#}"
        );
        let side = &report["server"];
        assert!(number(&side["cpu_seconds_per_gb"]) > 0.0, "{report:#}");
        assert!(number(&side["busy_share"]) > 0.0, "{report:#}");
        let sending = &side["sending"];
        assert_eq!(sending["connections"], 1, "{report:#}");
        assert!(number(&sending["busy_seconds"]) > 0.0, "{report:#}");
        for (bin, count) in report["errors"].as_object().unwrap() {
            let most = u64::from(bin == "unfinished");
            assert!(count.as_u64().unwrap() <= most, "{bin}: {report:#}");
        }
    }
}

#[test]
fn the_page_says_the_rate_first_and_who_was_the_limit() {
    let folder = Folder::new("download-page");
    let server = serve_long(&folder, &[]);
    let url = format!("http://{}/long", server.address);
    let output = load(&url, &LONG[..5]);
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = page.lines().next().unwrap_or_default();
    assert!(
        first.contains(" Gbit/s over 1 connection; the client's"),
        "{page}"
    );
    let limits = [
        ": neither side was at its limit of one CPU.",
        ": the client was the limit.",
        ": the server was the limit.",
        ": both sides were at their limit.",
        ": both together filled the CPUs that they share.",
        // Where one side may have waited for a CPU that another had.
        " %.",
    ];
    assert!(limits.iter().any(|limit| first.ends_with(limit)), "{page}");
    for row in [
        "  first answer  status 200, body of 134,217,728 bytes",
        "CPU-s per GB",
    ] {
        assert!(page.contains(row), "{row}: {page}");
    }
}

/// Answers each request with a body of which it sends `sent` of the announced bytes, and ends the
/// connection after a body that is cut short.
fn cut_short(stream: TcpStream, announced: usize, sent: usize) {
    let mut stream = stream;
    while read_request(&mut stream).is_some() {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {announced}\r\n\r\n");
        let _ = stream.write_all(head.as_bytes());
        if stream.write_all(&vec![b'x'; sent]).is_err() || sent < announced {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn download(address: SocketAddr, arguments: &[&str]) -> (Option<i32>, Value) {
    let output = load(&format!("http://{address}/"), &[&SHORT, arguments].concat());
    (output.status.code(), parse(&output))
}

#[test]
fn a_body_that_ends_early_is_in_the_bin_closed_and_a_load_without_a_whole_one_exits_with_one() {
    let address = serve(|stream, _| cut_short(stream, 1_000_000, 400_000));
    let (code, report) = download(address, &["-d", "200ms"]);
    assert_eq!(code, Some(1), "{report:#}");
    assert!(number(&report["errors"]["closed"]) > 0.0, "{report:#}");
    assert_eq!(report["answered"], 0, "{report:#}");
}

#[test]
fn a_body_of_another_length_than_the_one_asked_for_has_failed() {
    let address = serve(|stream, _| cut_short(stream, 300_000, 300_000));
    let (code, report) = download(address, &["-d", "200ms", "--length", "300000"]);
    assert_eq!(
        (code, &report["errors"]["body"]),
        (Some(0), &Value::from(0)),
        "{report:#}"
    );
    let (code, report) = download(address, &["-d", "200ms", "--length", "300001"]);
    assert_eq!(
        (code, &report["answered"]),
        (Some(1), &Value::from(0)),
        "{report:#}"
    );
    assert!(number(&report["errors"]["body"]) > 0.0, "{report:#}");
    let wrong = ["-d", "1s", "--download", "--settle", "0ms", "--length", "1"];
    let output = load(&format!("http://{address}/"), &wrong);
    let page = String::from_utf8_lossy(&output.stdout);
    assert_says(&page, "  another length than --length");
}

/// Each body that was answered came whole within the window, but for the one at each edge.
#[test]
fn the_bytes_received_are_those_of_the_bodies() {
    const BYTES: usize = 300_000;
    let address = serve(|stream, _| cut_short(stream, BYTES, BYTES));
    let (_, report) = download(address, &["-d", "300ms"]);
    let bodies = number(&report["received_bytes"]) / BYTES as f64;
    let answered = number(&report["answered"]);
    // The heads of the answers are counted too.
    assert!(
        (answered - 1.0..(answered + 1.0) * 1.01).contains(&bodies),
        "{report:#}"
    );
}

#[test]
fn a_body_may_take_longer_than_the_timeout_but_not_fall_silent_for_so_long() {
    // A byte every 20 ms, of a body that takes 20 s; then a body that stops after its first byte.
    let drips = serve(|mut stream, _| {
        let paused = || sys::clock::wait_until(Duration::from_millis(20), || false);
        while read_request(&mut stream).is_some() {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
            while stream.write_all(b"x").is_ok() && !paused() {}
        }
    });
    let (code, report) = download(drips, &["--timeout", "2s", "-d", "3s"]);
    assert_eq!(report["errors"]["timeout"], 0, "{report:#}");
    assert_eq!(code, Some(0), "{report:#}");
    let stops = serve(|mut stream, _| {
        while read_request(&mut stream).is_some() {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nx");
        }
    });
    let (code, report) = download(stops, &["--timeout", "500ms", "-d", "2s"]);
    assert!(number(&report["errors"]["timeout"]) > 0.0, "{report:#}");
    assert_eq!(code, Some(1), "{report:#}");
}

#[test]
fn flags_that_do_not_fit_a_download_are_refused() {
    let url = format!("http://{}/", answer_with(OK));
    for (arguments, words) in [
        (&["--download", "--rate", "10"][..], "cannot be used with"),
        (&["--download", "--latency"], "cannot be used with"),
        (
            &["--download", "-H", "X-Id: {id:1..9}"],
            "the number to draw",
        ),
        (&["--length", "10"], "--download"),
        (&["--download", "--insecure"], "--insecure is about TLS"),
    ] {
        let output = load(&url, arguments);
        let said = refused(&output);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

/// A client that has connected twice and waits for the end of its input.
fn holding_client() -> (Child, ChildStdin, [TcpStream; 2]) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/long", listener.local_addr().unwrap());
    let words = [
        "load",
        &url,
        "--download",
        "--hold",
        "-c",
        "2",
        "-d",
        "100ms",
    ];
    let mut client = Command::new(crate::common::program())
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The first connection asks for the head alone.
    let mut first = listener.accept().unwrap().0;
    read_request(&mut first).unwrap();
    first.write_all(OK).unwrap();
    let streams = [(); 2].map(|()| listener.accept().unwrap().0);
    // This is more than a pipe holds, so the write ends only if the client reads its input.
    let mut input = client.stdin.take().unwrap();
    input.write_all(&[0; 1 << 20]).unwrap();
    (client, input, streams)
}

#[test]
fn a_client_that_holds_connects_and_asks_for_nothing_before_its_input_ends() {
    let (mut client, input, mut streams) = holding_client();
    for stream in &streams {
        stream.set_nonblocking(true).unwrap();
        let peeked = stream.peek(&mut [0]).map_err(|error| error.kind());
        assert_eq!(peeked, Err(ErrorKind::WouldBlock));
        stream.set_nonblocking(false).unwrap();
    }
    drop(input);
    for stream in &mut streams {
        read_request(stream).unwrap();
    }
    client.kill().unwrap();
    client.wait().unwrap();
}

#[test]
fn a_signal_ends_a_client_that_holds_although_its_input_has_not_ended() {
    let (mut client, _input, _streams) = holding_client();
    sys::process::terminate(&client).unwrap();
    assert_eq!(client.wait().unwrap().code(), Some(128 + 15));
}
