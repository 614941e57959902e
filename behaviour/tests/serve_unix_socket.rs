//! A server on a Unix socket: `linerate serve --listen unix:PATH`.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::load_program::{load, parse};
use crate::common::processes::{Ours, line_of};
use crate::common::{Folder, answer, assert_says, linerate, refusal_of};

const LARGE_ONCE: &[u8] = b"GET /large HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n";
const ENGINES: [&str; 2] = ["epoll", "uring"];

/// A server of ours, which is killed when this is dropped.
struct Server {
    child: Ours,
    ready: String,
}

impl Server {
    fn start(folder: &Folder, path: &str, flags: &[&str]) -> Self {
        let listen = format!("unix:{path}");
        let words = [&["serve", "--listen", &listen], flags].concat();
        let mut command = linerate(folder, &words);
        let streams = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Ours(streams.spawn().unwrap());
        let ready = line_of(child.stdout.as_mut());
        Self { child, ready }
    }

    /// Ends the server as a person does; returns what it wrote to standard error.
    fn end(self) -> String {
        sys::process::terminate(&self.child).unwrap();
        self.wait_for_end()
    }

    /// Waits for the end of a server that was told to end; returns what it wrote to standard error.
    /// A second signal would kill it.
    fn wait_for_end(mut self) -> String {
        assert!(self.child.wait().unwrap().success());
        let mut said = String::new();
        let errors = self.child.stderr.as_mut().unwrap();
        errors.read_to_string(&mut said).unwrap();
        said
    }
}

fn curl(path: &Path, words: &[&str]) -> String {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--unix-socket"]);
    answer(command.arg(path).args(words))
}

fn refused(folder: &Folder, path: &str, flags: &[&str]) -> String {
    let listen = format!("unix:{path}");
    let mut command = Command::new("timeout");
    command.args(["20", crate::common::program(), "serve", "--listen"]);
    command.arg(&listen).args(flags).current_dir(folder.path());
    refusal_of(&mut command)
}

#[test]
fn either_engine_serves_load_and_curl_with_one_worker_and_with_two() {
    let folder = Folder::new("serve-unix");
    let path = folder.path().join("s");
    std::fs::write(folder.path().join("file"), "of the folder").unwrap();
    for engine in ENGINES {
        for workers in ["1", "2"] {
            let flags = ["--engine", engine, "--workers", workers, "--root", "."];
            let server = Server::start(&folder, "s", &flags);
            assert_eq!(server.ready, "listening on unix:s\n");
            assert_eq!(curl(&path, &["http://any/plaintext"]), "Hello, World!");
            assert_eq!(curl(&path, &["http://any/file"]), "of the folder");
            let flags = ["--unix-socket", path.to_str().unwrap(), "--json"];
            let short = ["-c", "4", "-d", "1s", "--settle", "20ms"];
            let report = parse(&load("http://any/json", &[&flags[..], &short].concat()));
            assert!(report["answered"].as_u64() > Some(0), "{report:#}");
            for (bin, count) in report["errors"].as_object().unwrap() {
                assert!(bin == "unfinished" || count == 0, "{report:#}");
            }
            server.end();
            assert!(!path.exists(), "{engine}");
        }
    }
}

#[test]
fn one_confined_worker_that_keeps_its_user_leaves_no_socket() {
    let folder = Folder::new("serve-unix-confined");
    // The server of an ordinary user keeps that user without the flag.
    let keep_user: &[&str] = match sys::user::ours() {
        0 => &["--user", "root"],
        _ => &[],
    };
    let flags = [keep_user, &["--workers", "1", "--root", "."]].concat();
    let server = Server::start(&folder, "s", &flags);
    server.end();
    assert!(!folder.path().join("s").exists());
}

#[test]
fn over_tls_the_records_are_made_by_the_server() {
    let folder = Folder::new("serve-unix-tls");
    let server = Server::start(&folder, "s", &["--tls-self-signed", "--root", "."]);
    let path = folder.path().join("s");
    std::fs::write(folder.path().join("file"), "of the folder").unwrap();
    let words = ["--insecure", "https://localhost/file"];
    assert_eq!(curl(&path, &words), "of the folder");
    server.end();
    let said = refused(&folder, "s", &["--tls-self-signed", "--kernel-tls", "on"]);
    assert_says(&said, "the kernel makes only those of TCP");
}

#[test]
fn everybody_may_connect_who_may_enter_the_folder() {
    let folder = Folder::new("serve-unix-mode");
    let mut command = Command::new("sh");
    let script = "umask 077; exec \"$0\" serve --listen unix:s";
    command.args(["-c", script, crate::common::program()]);
    let output = command.current_dir(folder.path()).stdout(Stdio::piped());
    let mut child = Ours(output.spawn().unwrap());
    let ready = line_of(child.stdout.as_mut());
    let _server = Server { child, ready };
    let mode = std::fs::metadata(folder.path().join("s")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o666);
}

#[test]
fn one_that_still_drains_leaves_the_socket_of_the_next() {
    let folder = Folder::new("serve-unix-drain");
    let path = folder.path().join("s");
    std::fs::write(folder.path().join("large"), vec![b'x'; 64 << 20]).unwrap();
    let first = Server::start(&folder, "s", &["--root", ".", "--drain-timeout", "60s"]);
    let mut reader = UnixStream::connect(&path).unwrap();
    reader.write_all(LARGE_ONCE).unwrap();
    reader.read_exact(&mut [0; 100]).unwrap();
    sys::process::terminate(&first.child).unwrap();
    let is_left = || UnixStream::connect(&path).is_err();
    assert!(sys::clock::wait_until(Duration::from_secs(20), is_left));
    let next = Server::start(&folder, "s", &[]);
    std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
    first.wait_for_end();
    assert_eq!(curl(&path, &["http://any/plaintext"]), "Hello, World!");
    next.end();
    assert!(!path.exists());
}

#[test]
fn what_a_server_left_is_taken_over_and_what_another_has_is_neither_taken_nor_removed() {
    let folder = Folder::new("serve-unix-left");
    let path = folder.path().join("s");
    drop(Server::start(&folder, "s", &[]));
    // Nobody reports the end of its worker.
    let is_dead = || UnixStream::connect(&path).is_err();
    assert!(sys::clock::wait_until(Duration::from_secs(20), is_dead));
    assert!(path.exists());
    let first = Server::start(&folder, "s", &[]);
    let said = refused(&folder, "s", &[]);
    let holder = format!("`linerate` (process {})", first.child.id());
    for words in ["cannot listen on unix:s", &holder, "take another path"] {
        assert_says(&said, words);
    }
    assert_eq!(curl(&path, &["http://any/plaintext"]), "Hello, World!");
    // From here on the socket is somebody else's.
    std::fs::remove_file(&path).unwrap();
    let _other = UnixListener::bind(&path).unwrap();
    first.end();
    assert!(path.exists());
}

#[test]
fn where_there_can_be_no_socket_it_is_refused_and_nothing_is_touched() {
    let folder = Folder::new("serve-unix-refused");
    std::fs::write(folder.path().join("file"), "kept").unwrap();
    let _datagrams = UnixDatagram::bind(folder.path().join("datagrams")).unwrap();
    let long = "l".repeat(108);
    for (path, reason) in [
        (
            "file",
            "what is there is not a socket, and is left as it is",
        ),
        (".", "what is there is not a socket"),
        (
            "datagrams",
            "is a socket for datagrams or packets, and is left as it is",
        ),
        ("nowhere/s", "its folder is not there"),
        ("", "is not empty"),
        (&long, "at most 107 bytes"),
    ] {
        let said = refused(&folder, path, &[]);
        assert!(said.contains(reason), "{path}: {said}");
    }
    assert_eq!(folder.text("file"), "kept");
    assert_eq!(folder.names(""), ["datagrams", "file"]);
}

#[test]
fn flags_of_tcp_are_refused_by_name_before_anything_is_made() {
    let folder = Folder::new("serve-unix-flags");
    for flags in [
        &["--steer", "hash"][..],
        &["--no-delay", "off"],
        &["--busy-poll", "50us"],
        &["--defer-accept", "1s"],
        &["--pacing", "1Gbit/s"],
    ] {
        let said = refused(&folder, "s", flags);
        let name = flags[flags.len() - 2];
        assert_says(&said, name);
        assert_says(&said, "at a Unix socket");
    }
    assert!(folder.names("").is_empty());
    let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let most: u32 = most.trim().parse().unwrap();
    // The flag takes no more than this; a machine with so high a limit does not refuse it.
    if most < 65_535 {
        let said = refused(&folder, "s", &["--backlog", "65535"]);
        assert_says(&said, "net.core.somaxconn");
        assert!(folder.names("").is_empty());
    }
}

#[test]
fn the_ready_line_for_scripts_has_the_path_and_no_port() {
    let folder = Folder::new("serve-unix-json");
    let path = folder.path().join("s");
    let server = Server::start(&folder, path.to_str().unwrap(), &["--json"]);
    let ready: serde_json::Value = serde_json::from_str(&server.ready).unwrap();
    assert_eq!(ready["listening"], format!("unix:{}", path.display()));
    assert!(ready["port"].is_null());
}
