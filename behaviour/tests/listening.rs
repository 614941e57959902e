//! Addresses that cannot be listened on.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::Stdio;

use crate::common::{Folder, assert_says, linerate, refusal_of};

/// What `serve` says about an address that it cannot listen on.
fn refusal(name: &str, arguments: &[&str]) -> String {
    let folder = Folder::new(name);
    let arguments = [&["serve", "--listen"], arguments].concat();
    refusal_of(&mut linerate(&folder, &arguments))
}

#[test]
fn a_port_in_use_is_named_with_who_has_it_and_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for workers in ["1", "2"] {
        let said = refusal("port-in-use", &[&address, "--workers", workers]);
        assert_says(&said, &address);
        let (name, pid) = ("`behaviour-", format!("(process {})", std::process::id()));
        assert!(said.contains(name) && said.contains(&pid), "{said}");
        assert_says(&said, "--listen 127.0.0.1:0");
    }
}

#[test]
fn an_address_that_is_not_ours_is_told_from_a_port_in_use() {
    // TEST-NET-1 (RFC 5737) belongs to nobody.
    let said = refusal("not-ours", &["192.0.2.1:8080"]);
    assert_says(&said, "no address 192.0.2.1");
    assert!(!said.contains("taken"), "{said}");
}

#[test]
fn a_port_that_needs_privilege_says_so() {
    let folder = Folder::new("privilege");
    let serve = "exec \"$0\" serve --listen 127.0.0.1:81";
    let mut command = std::process::Command::new("unshare");
    // Root keeps its name there and loses its privilege over the ports of the machine.
    command.args(["--user", "sh", "-c", serve, crate::common::program()]);
    let said = refusal_of(command.current_dir(folder.path()));
    assert_says(&said, "needs root or CAP_NET_BIND_SERVICE");
}

#[test]
fn a_server_listens_on_loopback_unless_it_is_told_otherwise() {
    let folder = Folder::new("loopback");
    let echo = ["echo", "--request-bytes", "8", "--answer-bytes", "8"];
    for command in [&["serve"][..], &echo] {
        let mut server = linerate(&folder, &[command, &["--listen", "0"]].concat());
        let mut server = server.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(server.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let address: Option<SocketAddr> =
            (line.trim().strip_prefix("listening on ")).and_then(|it| it.parse().ok());
        // A server that listens on all addresses has the port on the next address too.
        let beside = address.map(|it| TcpListener::bind(("127.0.0.2", it.port())));
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!(address.unwrap().ip(), Ipv4Addr::LOCALHOST);
        assert!(beside.unwrap().is_ok(), "{command:?} listens elsewhere too");
    }
}
