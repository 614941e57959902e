//! A service manager that hands over a socket and waits to be told, as systemd does.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Command, Stdio};

use super::running::{PATIENCE, Running};
use crate::common::{Folder, errors, words};

/// The server as a manager starts it: the socket is descriptor 3, and `LISTEN_PID` is the process.
fn activated(folder: &Folder, socket: OwnedFd, flags: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve \"$@\"";
    command.args(["-c", script, crate::common::program()]);
    command.args(flags).stdin(Stdio::from(socket));
    command.current_dir(folder.path());
    command
}

#[test]
fn a_socket_that_is_handed_over_is_served_by_any_number_of_workers() {
    let folder = Folder::new("server-activated");
    for workers in ["1", "2"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // This client connects before the server starts.
        let early = TcpStream::connect(address).unwrap();
        let server = Running::spawn(activated(&folder, listener.into(), &["--workers", workers]));
        assert_eq!(server.ready, format!("listening on {address}\n"));
        assert!(server.get("/json").contains("Hello"));
        drop(early);
        for worker in server.workers() {
            if worker != server.pid() {
                let environment = std::fs::read(format!("/proc/{worker}/environ")).unwrap();
                let environment = String::from_utf8_lossy(&environment).into_owned();
                assert!(!environment.contains("LISTEN_"), "{environment}");
            }
        }
        server.stop();
    }
}

#[test]
fn a_socket_at_a_path_is_left_there_at_the_end() {
    let folder = Folder::new("server-activated-path");
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let server = Running::spawn(activated(&folder, listener.into(), &["--workers", "2"]));
    assert_eq!(
        server.ready,
        format!("listening on unix:{}\n", path.display())
    );
    server.stop();
    assert_eq!(folder.names(""), ["s"]);
}

#[test]
fn what_does_not_listen_is_refused() {
    let folder = Folder::new("server-activated-wrong");
    let datagrams = UnixDatagram::unbound().unwrap();
    let output = activated(&folder, datagrams.into(), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("LISTEN_FDS"), "{output:?}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_manager_is_told_when_it_is_ready_reads_again_and_stops() {
    let folder = Folder::new("server-notify");
    let manager = UnixDatagram::bind(folder.path().join("notify")).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let heard = || {
        let mut words = [0; 256];
        let count = manager.recv(&mut words).unwrap();
        String::from_utf8_lossy(&words[..count]).into_owned()
    };
    let self_signed = ["--workers", "1", "--tls-self-signed"];
    let files = ["--workers", "2", "--tls-cert", "c", "--tls-key", "k"];
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-nodes", "-subj", "/CN=a"]);
    openssl.args(words(
        "-pkeyopt ec_paramgen_curve:prime256v1 -keyout k -out c",
    ));
    crate::common::answer(openssl.current_dir(folder.path()));
    for flags in [&self_signed[..], &files] {
        let mut command = super::running::serve(&folder);
        command.args(["--listen", "0"]).args(flags);
        command.env("NOTIFY_SOCKET", folder.path().join("notify"));
        let server = Running::spawn(command);
        assert_eq!(heard(), "READY=1");
        if flags.contains(&"c") {
            server.signal("HUP");
            let reloading = heard();
            assert!(
                reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="),
                "{reloading}"
            );
            assert_eq!(heard(), "READY=1");
        }
        server.signal("TERM");
        assert_eq!(heard(), "STOPPING=1");
        assert!(server.wait().0.success());
    }
}
