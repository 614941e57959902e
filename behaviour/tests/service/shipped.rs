//! The services that are built in, each as people install its program.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;

use model::run::Blocks;
use serde_json::Value;

use crate::common::{assert_says, refusal_of, words};
use crate::service::bench::Bench;

/// The body that a server answers a GET with.
fn body(url: &str) -> Vec<u8> {
    let output = Command::new("curl").args(["-sf", url]).output().unwrap();
    assert!(output.status.success(), "{url}: {output:?}");
    output.stdout
}

/// Asserts that the service serves byte for byte the bodies of its description, which are those of
/// our own server too.
fn assert_serves(ready: &Value) {
    let urls = ready["urls"].as_array().unwrap();
    let bodies: Vec<Vec<u8>> = urls.iter().map(|url| body(url.as_str().unwrap())).collect();
    let json: &[u8] = b"{\"message\":\"Hello, World!\"}";
    assert_eq!(bodies, [json, b"Hello, World!"], "{ready}");
}

fn starts_answers_and_leaves_nothing(name: &str, address: &str) {
    let bench = Bench::new(name);
    let known = study::services::find(name).unwrap();
    let ready = bench.start_with(name, &["--address", address]);
    let told = ready["address"].as_str().unwrap();
    assert!(told.starts_with(&format!("{address}:")), "{told}");
    assert_eq!(bench.running().len(), 1);
    match known.service.protocol {
        model::service::Protocol::Http => assert_serves(&ready),
        _ => drop(TcpStream::connect(ready["address"].as_str().unwrap()).unwrap()),
    }
    if let Some(socket) = ready["socket"].as_str() {
        assert!(std::fs::metadata(socket).is_ok(), "no {socket}");
    }
    assert!(!bench.processes().is_empty());
    assert_eq!(bench.stop(name), "ended");
    assert_eq!(bench.processes(), [0; 0]);
    bench.assert_nothing_is_left();
    assert!(bench.running().is_empty());
}

#[test]
fn every_shipped_service_starts_where_it_is_told_answers_stops_and_leaves_nothing() {
    let names = study::services::names();
    assert!(names.len() >= 10, "{names:?}");
    let failed: Vec<&String> = std::thread::scope(|scope| {
        let mut begun = Vec::new();
        // No service gets 127.0.0.1, on which a program would listen that ignores its address. Each
        // has an address of its own, so that no other can be given the same port there.
        for (name, number) in names.iter().zip(2..) {
            let address = format!("127.0.0.{number}");
            let start = move || starts_answers_and_leaves_nothing(name, &address);
            begun.push((name, scope.spawn(start)));
        }
        let failed = |(name, thread): (_, std::thread::ScopedJoinHandle<'_, ()>)| {
            thread.join().is_err().then_some(name)
        };
        begun.into_iter().filter_map(failed).collect()
    });
    assert_eq!(failed, [""; 0], "these failed, each as said above");
}

/// The I/O threads of Redis only write unless they are configured to read.
#[test]
fn the_threads_of_redis_read_as_well() {
    let bench = Bench::new("redis-threads");
    let ready = bench.start("redis");
    let password = std::fs::read_to_string(ready["password_file"].as_str().unwrap()).unwrap();
    let mut redis = UnixStream::connect(ready["socket"].as_str().unwrap()).unwrap();
    let password = password.trim();
    write!(
        redis,
        "AUTH {password}\r\nCONFIG GET io-threads-do-reads\r\nQUIT\r\n"
    )
    .unwrap();
    let mut said = String::new();
    redis.read_to_string(&mut said).unwrap();
    assert_says(&said, "\r\nyes\r\n");
    bench.stop("redis");
}

/// The studies that drive HTTP accept every service that speaks it.
#[test]
fn a_study_measures_a_server_that_was_built_on_the_spot() {
    let bench = Bench::new("go-study");
    let run = words("study run http-json --target go-http --smoke --yes --json --out run");
    crate::common::answer(&mut bench.linerate(&run));
    let text = bench.0.text("run/blocks.jsonl");
    let blocks = <Blocks>::parse(&text).unwrap();
    assert!(
        blocks
            .records
            .iter()
            .any(|block| block.reading.answered > 0)
    );
    for block in blocks.records {
        assert_eq!(block.reading.ledger.errors.failed(), 0, "{}", block.arm);
    }
    bench.assert_nothing_is_left();
}

#[test]
fn a_service_that_speaks_another_protocol_is_refused_by_name() {
    let bench = Bench::new("protocol");
    let run = ["study", "run", "http-json", "--target", "redis", "--yes"];
    let words = refusal_of(&mut bench.linerate(&run));
    let expected = "Redis speaks the Redis protocol, and `http-json` drives HTTP; services that \
                    speak it: caddy, go-http, h2o, nginx, node-http, python-http";
    assert_says(&words, expected);
    assert!(!bench.0.path().join("linerate-runs").exists());
}
