//! What only a ring has: limits of its own, beyond which nothing may be lost.

use std::process::Command;

use crate::client::{Client, get};
use crate::server::Server;

/// More than the ring has buffers to receive into, and more than it has room for completions.
const CONNECTIONS: usize = 5000;
/// To each of several clients, before it reads the first answer.
const REQUESTS: usize = 300;

#[test]
fn requests_beyond_the_buffers_and_completions_of_the_ring_are_answered_too() {
    sys::process::raise_open_file_limit().unwrap();
    let server = Server::start(&["--workers", "1"]);
    let connect = |_| server.connect();
    let mut clients: Vec<Client> = (0..CONNECTIONS).map(connect).collect();
    assert_eq!(clients[CONNECTIONS - 1].get("/json").status, 200);
    signal(&server, "STOP");
    for client in &mut clients {
        client.send(get("/json"));
    }
    signal(&server, "CONT");
    for client in &mut clients {
        assert_eq!(client.answer().status, 200);
    }
    for client in &mut clients {
        assert_eq!(client.get("/plaintext").status, 200);
    }
}

#[test]
fn an_answer_for_which_there_is_no_room_waits_for_it_whole_and_in_order() {
    // Short enough to leave with those of others; some hundred fill what lies between.
    let message = "0123456789".repeat(3000);
    let server = Server::start(&["--workers", "1", "--message", &message]);
    let mut clients: Vec<Client> = (0..8).map(|_| server.connect()).collect();
    for _ in 0..REQUESTS {
        for client in &mut clients {
            client.send(get("/plaintext"));
        }
    }
    for number in 0..REQUESTS {
        for client in &mut clients {
            assert!(client.answer().body == message, "{number}");
        }
    }
}

fn signal(server: &Server, name: &str) {
    let pid = server.pid().to_string();
    let mut kill = Command::new("kill");
    assert!(kill.args(["-s", name, &pid]).status().unwrap().success());
}
