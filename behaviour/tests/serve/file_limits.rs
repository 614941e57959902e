//! Large files, slow clients, and files that change while they are sent.

use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::process::Command;
use std::time::SystemTime;

use super::ENGINE;
use super::client::{Client, PATIENCE, get};
use super::limits::resident_bytes;
use super::server::{Server, program, sockets};
use crate::common::Folder;

/// More than the kernel buffers for a connection whose client does not read.
const LARGE_BYTES: u64 = 64 << 20;

#[test]
fn a_large_file_keeps_nobody_waiting_and_no_memory() {
    let (_folder, server) = serve_large("fair", &[]);
    let mut slow = server.connect();
    slow.send(get("/large"));
    assert_eq!(slow.take(1).len(), 1);
    let mut other = server.connect();
    for _ in 0..100 {
        assert_eq!(other.get("/json").status, 200);
    }
    assert!(resident_bytes(server.pid()) < 32 << 20);
    let rest = usize::try_from(LARGE_BYTES).unwrap();
    slow.skip_head();
    assert_eq!(slow.skip(rest), rest);
    assert_eq!(slow.get("/json").status, 200);
}

#[test]
fn writing_to_a_file_while_it_is_sent_ends_its_connection_and_replacing_it_does_not() {
    let (folder, server) = serve_large("written", &[]);
    let path = folder.path().join("large");
    let all = usize::try_from(LARGE_BYTES).unwrap();
    let mut client = server.connect();
    client.send(get("/large"));
    client.skip_head();
    // A new file of the same name: those who replace a file properly do it like this.
    fs::write(folder.path().join("new"), "new").unwrap();
    fs::rename(folder.path().join("new"), &path).unwrap();
    assert_eq!(client.skip(all), all);
    assert_eq!(client.get("/large").body, "new");
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(LARGE_BYTES).unwrap();
    // The times of files advance in steps; this way the next write certainly changes the time.
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    client.send(get("/large"));
    client.skip_head();
    file.write_all_at(b"x", LARGE_BYTES - 1).unwrap();
    let received = client.rest_bytes();
    assert!(received < all, "{received}");
}

#[test]
fn a_client_that_takes_nothing_of_its_file_is_cut_off() {
    let (_folder, server) = serve_large("stuck", &["--idle-timeout", "3s"]);
    let before = sockets(server.pid());
    let mut client = server.connect();
    client.send(get("/large"));
    assert_eq!(client.take(1).len(), 1);
    let is_gone = || sockets(server.pid()) == before;
    assert!(sys::clock::wait_until(PATIENCE, is_gone));
}

#[test]
fn a_stop_lets_a_file_under_way_finish() {
    let (_folder, server) = serve_large("drains", &[]);
    let mut client = server.connect();
    client.send(get("/large"));
    client.skip_head();
    server.terminate();
    let all = usize::try_from(LARGE_BYTES).unwrap();
    assert_eq!(client.skip(all), all);
    assert!(client.is_closed());
    assert!(server.wait().0.success());
}

#[test]
fn what_follows_the_last_request_does_not_cut_off_its_answer() {
    let (_folder, server) = serve_large("late", &[]);
    let all = usize::try_from(LARGE_BYTES).unwrap();
    let mut client = connect_with_small_buffer(&server);
    client.send(get("/large").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    client.skip_head();
    client.send("\r\n");
    assert_eq!(client.skip(all), all);
    assert!(client.is_closed());
}

#[test]
fn a_stop_does_not_cut_off_an_answer_after_which_another_was_asked_for() {
    let (_folder, server) = serve_large("two", &["--drain-timeout", "1m"]);
    let all = usize::try_from(LARGE_BYTES).unwrap();
    let mut client = connect_with_small_buffer(&server);
    client.send(get("/large"));
    client.skip_head();
    client.send(get("/json"));
    server.terminate();
    assert_eq!(client.skip(all), all);
    assert!(client.is_closed());
    assert!(server.wait().0.success());
}

#[test]
fn a_file_leaves_by_sendfile_in_turns_and_its_head_with_its_first_segment() {
    let folder = Folder::new("serve-traced");
    fs::write(folder.path().join("a"), "hello".repeat(1_000_000)).unwrap();
    let trace = folder.path().join("trace");
    let calls = "trace=sendto,sendfile,read,pread64,mmap";
    let mut command = Command::new("strace");
    // With -D the server is our child and ends with us; strace ends with the process it traces.
    command.args(["-D", "-f", "-qq", "-s", "400", "-e", calls, "-o"]);
    command
        .arg(&trace)
        .args([program(), "serve", "--listen", "0", "--engine", ENGINE]);
    command
        .args(["--workers", "1", "--root"])
        .arg(folder.path());
    let server = Server::spawn(command);
    let mut client = server.connect();
    assert_eq!(client.get("/a").body.len(), 5_000_000);
    // When this other answer is in the trace, everything before it is too. The last answer of a
    // connection leaves by a system call on every engine.
    client.send(get("/json").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    assert_eq!(client.answer().status, 200);
    let was_traced = || folder.text("trace").contains("Hello, World!");
    assert!(sys::clock::wait_until(PATIENCE, was_traced));
    let text = folder.text("trace");
    let from = text.find("HTTP/1.1 200 OK").unwrap();
    assert!(text[from..].lines().next().unwrap().contains("MSG_MORE"));
    let turns = text.lines().filter(|line| line.contains("sendfile("));
    // The last argument is the number of bytes asked for.
    let asked = |line: &str| line.split([',', ')']).nth(3)?.trim().parse().ok();
    let turns: Vec<u32> = turns.map(|line| asked(line).unwrap()).collect();
    assert!(turns.len() >= 3 && turns.iter().max() == Some(&(2 << 20)));
    assert!(!text.contains("hello"), "{text}");
}

#[test]
fn more_clients_than_there_are_descriptors_for_wait_and_none_is_refused() {
    let folder = Folder::new("serve-crowd");
    let file = File::create(folder.path().join("large")).unwrap();
    file.set_len(LARGE_BYTES).unwrap();
    let mut command = Command::new("prlimit");
    command.args(["--nofile=64", program(), "serve", "--listen", "0"]);
    command
        .args(["--engine", ENGINE, "--workers", "1", "--root"])
        .arg(folder.path());
    let server = Server::spawn(command);
    let mut clients: Vec<_> = (0..40).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send(get("/large"));
    }
    // A client that has seen its head is dropped, which makes room.
    for mut client in clients {
        assert_eq!(client.head_only().status, 200);
    }
}

/// A client with a small receive buffer, so that much waits at the server until the end.
fn connect_with_small_buffer(server: &Server) -> Client {
    let client = server.connect();
    sys::datagram::ask_for_room(client.stream().as_fd(), 32 * 1024).unwrap();
    client
}

fn serve_large(name: &str, flags: &[&str]) -> (Folder, Server) {
    let folder = Folder::new(&format!("serve-{name}"));
    let file = File::create(folder.path().join("large")).unwrap();
    file.set_len(LARGE_BYTES).unwrap();
    let root = folder.path().to_str().unwrap().to_owned();
    let server = Server::start(&[&["--workers", "1", "--root", &root], flags].concat());
    (folder, server)
}
