//! A listener, and several clients of it.

use std::process::{Child, Stdio};

use serde_json::Value;

use super::{hostile, number};
use crate::common::listener::Listener;
use crate::common::processes::signal;
use crate::common::{Folder, answer, assert_says, errors, linerate, refusal_of, words};

fn client(folder: &Folder, address: &str, flags: &[&str]) -> Child {
    let words = [&["stream", address, "--json", "--quiet"], flags].concat();
    let client = linerate(folder, &words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    client.unwrap()
}

fn said(client: Child) -> Value {
    let output = client.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", errors(&output)))
}

#[test]
fn clients_that_come_at_once_are_all_served_and_told_apart() {
    let folder = Folder::new("stream-many");
    let mut listener = Listener::start(&[]);
    let flags = ["--for", "700ms", "--both", "-P", "2"];
    let of_udp = [&flags[..], &["--udp", "--rate", "5M"]].concat();
    let clients = [&flags[..], &flags, &of_udp, &of_udp];
    let clients = clients.map(|flags| client(&folder, &listener.address, flags));
    for client in clients {
        let said = said(client);
        for way in said["ways"].as_array().unwrap() {
            assert!(number(&way["received_bytes"]) > 0.0, "{said:#}");
        }
    }
    let lines = [(); 4].map(|()| listener.line());
    assert!(
        lines.iter().all(|line| line.contains("received")),
        "{lines:?}"
    );
    assert!(
        lines.iter().any(|line| line.contains(" at once")),
        "{lines:?}"
    );
}

#[test]
fn datagrams_are_answered_from_the_address_that_they_came_to() {
    let folder = Folder::new("stream-everywhere");
    let listener = Listener::at("0.0.0.0:0", &[]);
    let address = format!("127.0.0.2:{}", listener.port());
    for flags in ["--udp --for 300ms", "--latency --for 300ms"] {
        let said = said(client(&folder, &address, &words(flags)));
        let received = number(&said["ways"][0]["received_bytes"]);
        assert!(received > 0.0, "{flags}: {said:#}");
    }
}

#[test]
fn streams_go_over_a_unix_socket_whose_file_goes_with_its_listener() {
    let folder = Folder::new("stream-unix");
    let path = folder.path().join("s");
    let mut listener = Listener::at(&format!("unix:{}", path.display()), &[]);
    for (flags, bytes) in [
        ("--for 300ms -P 2", None),
        ("-n 20M", Some(20_971_520.0)),
        ("-n 20M -R --send sendfile", Some(20_971_520.0)),
        ("--for 300ms --both --send splice", None),
    ] {
        let said = said(client(&folder, &listener.address, &words(flags)));
        assert_eq!(said["carrier"], "unix", "{said:#}");
        assert_eq!(said["receive"], "copy", "{said:#}");
        for way in said["ways"].as_array().unwrap() {
            let received = number(&way["received_bytes"]);
            let is_right = bytes.map_or(received > 0.0, |bytes| received >= bytes);
            assert!(is_right, "{flags}: {said:#}");
            assert!(
                way["lost_share"].is_null() && way["rtt_us"].is_null(),
                "{said:#}"
            );
        }
        assert_says(&listener.line(), "received");
    }
    signal("INT", listener.child.id());
    listener.child.wait().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_client_of_iperf3_is_refused_where_nobody_asked_for_it_and_a_port_that_is_taken_is_named() {
    let folder = Folder::new("stream-taken");
    let mut listener = Listener::start(&[]);
    let said = refusal_of(&mut linerate(
        &folder,
        &["stream", &listener.address, "--iperf3", "-q"],
    ));
    assert_says(&said, "error 142");
    assert_says(&listener.line(), "only with --iperf3");
    let said = refusal_of(&mut linerate(
        &folder,
        &["stream", "--listen", listener.port()],
    ));
    assert_says(&said, "the port is taken by `linerate`");
}

#[test]
fn a_listener_that_is_stopped_tells_its_client_and_a_client_its_listener() {
    let folder = Folder::new("stream-stopped");
    let mut listener = Listener::start(&[]);
    let stopped = client(&folder, &listener.address, &["--interval", "50ms"]);
    run_short_test(&listener.address);
    signal("INT", stopped.id());
    let output = stopped.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", errors(&output));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(number(&said["ways"][0]["received_bytes"]) > 0.0, "{said:#}");
    let lines = [listener.line(), listener.line()];
    let are_received = lines.iter().all(|line| line.contains("received"));
    assert!(are_received, "{lines:?}");
    let waiting = client(&folder, &listener.address, &["--interval", "50ms"]);
    run_short_test(&listener.address);
    signal("INT", listener.child.id());
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    assert_says(&errors(&output), "the other end has ended the test");
}

#[test]
fn a_listener_that_dies_leaves_its_client_what_came_until_then() {
    let folder = Folder::new("stream-died");
    let listener = Listener::start(&[]);
    let flags = ["--for", "60s"];
    let going = client(&folder, &listener.address, &flags);
    run_short_test(&listener.address);
    signal("KILL", listener.child.id());
    let output = going.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(said["broken"].is_string(), "{said:#}");
    let way = &said["ways"][0];
    let received = number(&way["received_bytes"]);
    assert!(
        received > 0.0 && received <= number(&way["sent_bytes"]),
        "{said:#}"
    );
    // The listener reported nothing of itself: its figures are unknown and not 0.
    for place in [
        "/server_program",
        "/server/cpu_seconds_per_gb",
        "/server/busy_percent",
        "/server/waiting_percent",
        "/cpu_seconds_per_gb",
    ] {
        assert_eq!(said.pointer(place), Some(&Value::Null), "{place}: {said:#}");
    }
}

#[test]
fn a_server_that_left_before_it_reported_its_cost_has_no_line_on_the_page() {
    let output = hostile::client("--for 100ms", &hostile::AGREED, |_, _| (), &[13]);
    let page = String::from_utf8_lossy(&output.stdout);
    assert_says(&page, "  client    ");
    for other in ["  server ", "both ends", "iperf3"] {
        assert!(!page.contains(other), "{other}: {page}");
    }
}

/// Runs a whole short test beside others. A test that was begun before is running by its end.
fn run_short_test(address: &str) {
    let folder = Folder::new("stream-beside");
    answer(&mut linerate(
        &folder,
        &["stream", address, "-q", "--for", "300ms"],
    ));
}
