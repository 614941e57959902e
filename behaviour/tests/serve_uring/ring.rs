//! What only a ring has: limits of its own, beyond which nothing may be lost.

use std::net::TcpStream;
use std::time::Duration;

use crate::common::processes::signal;
use crate::serve_uring::client::{Client, PATIENCE, get};
use crate::serve_uring::server::{Server, sockets};

/// More connections than the ring has buffers to receive into.
const CONNECTIONS: usize = 5000;
/// Clients that send several requests at once, of a kilobyte each, so that two fit into a buffer.
/// The kernel fills buffers for twenty clients in one go, faster than the server attends to them.
const SENDERS: usize = 200;
const AT_ONCE: usize = 40;
/// Requests that each of several clients sends before it reads its first answer.
const REQUESTS: usize = 300;
/// Clients whose requests fill a buffer each; the server does not attend to all of them in one go.
const BUSY: usize = 50;
const REQUESTS_EACH: usize = 10;
/// Room for other clients: for twice as many as may come at once.
const ROOM: usize = 25;
const BACKLOG: usize = 10;
/// Time limit of an attempt to connect, which waits in vain while nobody is accepted.
const ATTEMPT: Duration = Duration::from_millis(20);

#[test]
fn requests_of_more_connections_than_the_ring_has_buffers_are_answered_too() {
    sys::process::raise_open_file_limit().unwrap();
    let server = Server::start(&["--workers", "1"]);
    let connect = |_| server.connect();
    let mut clients: Vec<Client> = (0..CONNECTIONS).map(connect).collect();
    assert_eq!(clients[CONNECTIONS - 1].get("/json").status, 200);
    signal("STOP", server.pid());
    for client in &mut clients {
        client.send(get("/json"));
    }
    signal("CONT", server.pid());
    for client in &mut clients {
        assert_eq!(client.answer().status, 200);
    }
    for client in &mut clients {
        assert_eq!(client.get("/plaintext").status, 200);
    }
}

#[test]
fn requests_that_take_more_buffers_than_the_ring_has_are_answered_too() {
    let server = Server::start(&["--workers", "1"]);
    let mut clients: Vec<Client> = (0..SENDERS).map(|_| server.connect()).collect();
    assert_eq!(clients[SENDERS - 1].get("/json").status, 200);
    let padding = "a".repeat(1000);
    let request = format!("GET /json HTTP/1.1\r\nHost: a\r\nX: {padding}\r\n\r\n");
    signal("STOP", server.pid());
    for client in &mut clients {
        client.send(request.repeat(AT_ONCE));
    }
    signal("CONT", server.pid());
    for client in &mut clients {
        for number in 0..AT_ONCE {
            assert_eq!(client.answer().status, 200, "{number}");
        }
    }
}

#[test]
fn an_answer_for_which_there_is_no_room_waits_for_it_whole_and_in_order() {
    // Short enough to leave with other answers; some hundred fill the buffers on the way.
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

#[test]
fn no_more_are_let_in_than_there_is_room_for_while_the_server_is_busy() {
    let most = BUSY + ROOM;
    let flags = format!(
        "--workers 1 --max-connections {most} --backlog {BACKLOG} --busy-work-rounds 2000000"
    );
    let server = Server::start(&flags.split(' ').collect::<Vec<_>>());
    let mut busy: Vec<Client> = Vec::new();
    for _ in 0..BUSY {
        busy.push(server.connect());
        assert_eq!(busy.last_mut().unwrap().get("/json").status, 200);
    }
    let padding = "a".repeat(2000);
    let request = format!("GET /json HTTP/1.1\r\nHost: a\r\nX: {padding}\r\n\r\n");
    signal("STOP", server.pid());
    for client in &mut busy {
        client.send(request.repeat(REQUESTS_EACH));
    }
    signal("CONT", server.pid());
    let reader = std::thread::spawn(move || {
        for client in &mut busy {
            (0..REQUESTS_EACH).for_each(|_| assert_eq!(client.answer().status, 200));
        }
        busy
    });
    // A client that connects now is accepted after all of these requests.
    let mut others: Vec<TcpStream> = Vec::new();
    while others.len() <= ROOM || !reader.is_finished() {
        others.extend(TcpStream::connect_timeout(&server.address, ATTEMPT));
    }
    // The listener is one of the sockets.
    let is_full = || sockets(server.pid()) == most + 1;
    let was_full = sys::clock::wait_until(PATIENCE, is_full);
    assert!(was_full, "{} sockets", sockets(server.pid()));
    drop(reader.join().unwrap());
    for mut client in others.into_iter().map(Client::of) {
        assert_eq!(client.get("/json").status, 200);
    }
}
