//! Clients that read nothing or hardly anything, and how much of a server they can tie up.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;

use super::ENGINES;
use super::running::{PATIENCE, Running, resident_bytes, wait_until};
use crate::common::{Folder, assert_says, refusal_of, words};

const LARGE: &[u8] = b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n";

/// Reads a little at a time, some megabytes a second, until the server has ended the connection.
fn sips(stream: &mut std::net::TcpStream) {
    let mut sip = [0; 16 * 1024];
    let begun = sys::clock::now();
    let mut read_bytes = 0;
    while begun.elapsed() < PATIENCE {
        // The clock sets the pace, however busy the machine is.
        if read_bytes < 4_000 * begun.elapsed().as_millis() {
            match stream.read(&mut sip) {
                Ok(0) => return,
                Ok(count) => read_bytes += count as u128,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
                Err(error) => panic!("{error}"),
            }
        } else {
            std::thread::yield_now();
        }
    }
    panic!("the slow reader is still served");
}

#[test]
fn a_reader_that_is_slow_on_the_whole_has_an_end_though_it_never_rests() {
    let folder = Folder::new("server-slow");
    // A sparse file takes no room on the disk.
    let large = std::fs::File::create(folder.path().join("large")).unwrap();
    large.set_len(8 << 30).unwrap();
    for engine in ENGINES {
        let limits = words("--idle-timeout 2s --least-rate 1000000000 --json");
        let flags = ["--engine", engine, "--workers", "2", "--root", "."];
        let mut server = Running::start(&folder, &[&limits[..], &flags].concat());
        let mut stream = server.connect();
        stream.write_all(LARGE).unwrap();
        sips(&mut stream);
        let connections = server.asked()["connections"].take();
        assert_eq!(connections["slow_readers"], 1, "{connections}");
        assert_eq!(connections["timed_out"], 0, "{connections}");
    }
}

#[test]
fn a_reader_that_takes_nothing_has_an_end_and_is_counted() {
    let folder = Folder::new("server-silent");
    let large = std::fs::File::create(folder.path().join("large")).unwrap();
    large.set_len(1 << 30).unwrap();
    for engine in ENGINES {
        let flags = [
            "--engine",
            engine,
            "--workers",
            "1",
            "--root",
            ".",
            "--json",
        ];
        let limits = ["--idle-timeout", "1s"];
        let mut server = Running::start(&folder, &[&limits[..], &flags].concat());
        let mut stream = server.connect();
        stream.write_all(LARGE).unwrap();
        let is_counted = || server.asked()["connections"]["slow_readers"] == 1;
        assert!(wait_until(is_counted));
    }
}

/// Memory bound of the one worker, bytes: not much above the least that is accepted.
const MEMORY_BYTES: u64 = 48_000_000;
const READERS: usize = 300;

#[test]
fn many_readers_of_large_answers_cannot_take_more_memory_than_there_is_for_them() {
    let folder = Folder::new("server-memory");
    let message = "x".repeat(100_000);
    let memory = MEMORY_BYTES.to_string();
    let path = folder.path().join("s");
    for engine in ENGINES {
        // For a Unix socket the kernel holds little, so the server must hold the rest.
        let listen = ["--listen", "unix:s", "--json", "--engine", engine];
        let limits = ["--workers", "1", "--message", &message, "--memory", &memory];
        let mut server = Running::start(&folder, &[&listen[..], &limits].concat());
        let worker = server.workers()[0];
        let request = b"GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n".repeat(10);
        let mut readers = Vec::new();
        for _ in 0..READERS {
            let mut reader = UnixStream::connect(&path).unwrap();
            // The server may have closed this connection already to make room: no error here.
            let _ = reader.write_all(&request);
            readers.push(reader);
            let held = resident_bytes(worker);
            assert!(held < MEMORY_BYTES, "{engine}: {held} bytes");
        }
        // The last were accepted, and others were closed to make room for them.
        let is_shed = || {
            let connections = server.asked()["connections"].take();
            let all = connections["accepted"].as_u64() == Some(READERS as u64);
            all && connections["shed"].as_u64() > Some(0)
        };
        assert!(wait_until(is_shed));
        let held = resident_bytes(worker);
        assert!(held < MEMORY_BYTES, "{engine}: {held} bytes");
        // A client that reads is still served.
        let mut client = UnixStream::connect(&path).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(b"GET /json HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
}

/// TLS sessions to open. The memory bound has room for about 1,400.
const SILENT: usize = 1_800;

#[test]
fn clients_that_never_say_a_word_are_held_to_the_same_memory() {
    let folder = Folder::new("server-mute");
    sys::process::raise_open_file_limit().unwrap();
    let memory = MEMORY_BYTES.to_string();
    for engine in ENGINES {
        let flags = ["--engine", engine, "--workers", "1", "--memory", &memory];
        let flags = [&flags[..], &["--tls-self-signed", "--json"]].concat();
        let mut server = Running::start(&folder, &flags);
        let silent: Vec<_> = (0..SILENT).map(|_| server.connect()).collect();
        let is_shed = || {
            let connections = server.asked()["connections"].take();
            let all = connections["accepted"].as_u64() == Some(SILENT as u64);
            all && connections["shed"].as_u64() > Some(0)
        };
        assert!(wait_until(is_shed), "{engine}");
        drop(silent);
    }
}

#[test]
fn a_bound_that_no_worker_could_keep_is_refused() {
    let folder = Folder::new("server-bound");
    let mut command = super::running::serve(&folder);
    command.args(["--listen", "0", "--workers", "2", "--memory", "48MB"]);
    let said = refusal_of(&mut command);
    assert_says(&said, "2 workers need at least 68MB");
}
