//! How streams of datagrams are opened, even where the path loses the datagrams that open them.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::IntoRawFd as _;
use std::time::Duration;

use serde_json::Value;

use super::hostile::{
    AGREED, COOKIE, PARAMETERS, client, json_of, message, received, report, results,
};
use super::number;
use crate::common::listener::Listener;

const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_stream_of_udp_is_opened_by_a_hello_and_by_no_other_datagram() {
    let listener = Listener::start(&["--iperf3"]);
    let mut control = begin_udp_test(1, &listener);
    let [stray, client] = [(); 2].map(|()| socket_to(&listener));
    for datagram in [&b"hello"[..], b"none", b"", &[0x5a; 1000]] {
        stray.send(datagram).unwrap();
    }
    says_hello(&client);
    assert_eq!(states(&mut control), [1, 2]);
}

#[test]
fn a_client_that_says_hello_again_is_answered_again_and_its_hello_is_not_counted() {
    let listener = Listener::start(&["--iperf3"]);
    let mut control = begin_udp_test(2, &listener);
    let [first, second] = [(); 2].map(|()| socket_to(&listener));
    // The first asks again while the second is still due, and the second while the test runs.
    for client in [&first, &first, &second] {
        says_hello(client);
    }
    assert_eq!(states(&mut control), [1, 2]);
    says_hello(&second);
    let said = end_test(&mut control);
    for stream in said["streams"].as_array().unwrap() {
        assert_eq!(
            (number(&stream["bytes"]), number(&stream["packets"])),
            (0.0, 0.0)
        );
    }
}

/// Begins a test of this many streams of UDP, which are then due.
fn begin_udp_test(streams: u32, listener: &Listener) -> TcpStream {
    let mut control = TcpStream::connect(&listener.address).unwrap();
    control.set_read_timeout(Some(LONG)).unwrap();
    control.write_all(&COOKIE).unwrap();
    let asked = PARAMETERS
        .replace("\"tcp\"", "\"udp\"")
        .replace("\"parallel\":1", &format!("\"parallel\":{streams}"))
        .replace("131072", "1000");
    control.write_all(&message(asked.as_bytes())).unwrap();
    assert_eq!(states(&mut control), [9, 10]);
    control
}

fn states(control: &mut TcpStream) -> [u8; 2] {
    let mut states = [0; 2];
    control.read_exact(&mut states).unwrap();
    states
}

fn socket_to(listener: &Listener) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(&listener.address).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    socket
}

/// Opens a stream and checks the answer that it is open.
fn says_hello(client: &UdpSocket) {
    client.send(b"9876").unwrap();
    let mut answer = [0; 8];
    assert_eq!(client.recv(&mut answer).unwrap(), 4);
    assert_eq!(&answer[..4], b"6789");
}

/// Ends a test of two streams and returns the results of the listener.
fn end_test(control: &mut TcpStream) -> Value {
    control.write_all(&[4]).unwrap();
    let mut state = [0];
    control.read_exact(&mut state).unwrap();
    assert_eq!(state, [13]);
    let streams = [1, 3].map(|id| received(id, "0", 0, 0.1)).join(",");
    let own = message(report(&streams).as_bytes());
    control.write_all(&own).unwrap();
    let mut length = [0; 4];
    control.read_exact(&mut length).unwrap();
    let mut json = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
    control.read_exact(&mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// Treats a client's first hello as lost, and returns the sender of the second.
fn second_hello(socket: &UdpSocket) -> SocketAddr {
    socket.set_read_timeout(Some(LONG)).unwrap();
    let clients = [(); 2].map(|()| {
        let mut hello = [0; 8];
        let (bytes, client) = socket.recv_from(&mut hello).unwrap();
        assert_eq!(&hello[..bytes], b"9876");
        client
    });
    clients[1]
}

#[test]
fn a_client_says_hello_again_until_it_is_answered() {
    let answer = |_: &TcpListener, socket: UdpSocket| {
        let client = second_hello(&socket);
        socket.send_to(b"6789", client).unwrap();
        // The socket stays open.
        let _ = socket.into_raw_fd();
    };
    let reply = results(&report(&received(1, "0", 0, 0.1)));
    let said = json_of(&client("-u --for 100ms --json", &AGREED, answer, &reply));
    assert!(number(&said["ways"][0]["sent_bytes"]) > 0.0, "{said:#}");
}

#[test]
fn datagrams_of_a_stream_answer_a_hello_too_and_are_counted_even_out_of_order() {
    let bring = |_: &TcpListener, socket: UdpSocket| {
        let client = second_hello(&socket);
        for number in [1, 3, 2] {
            let mut datagram = [0; 1000];
            datagram[15] = number;
            socket.send_to(&datagram, client).unwrap();
        }
        let _ = socket.into_raw_fd();
    };
    let reply = results(&report(&received(1, "3000", 3, 0.5)));
    let flags = "-u -R --write-size 1000 --for 500ms --json";
    let said = json_of(&client(flags, &AGREED, bring, &reply));
    let way = &said["ways"][0];
    assert_eq!(number(&way["received_bytes"]), 3000.0, "{said:#}");
    assert_eq!((&way["late"], &way["lost_share"]), (&1.into(), &0.0.into()));
    assert!(number(&way["jitter_ms"]) >= 0.0, "{said:#}");
}
