//! An HTTP/1.1 server with keep-alive and one thread per connection. Usage: `app PORT`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

const ROUNDS: u32 = include!("rounds");

#[inline(never)]
fn hot() -> u32 {
    (0..ROUNDS).fold(1, |value: u32, round| {
        std::hint::black_box(value.wrapping_mul(1_664_525).wrapping_add(round))
    })
}

fn answer(mut connection: TcpStream) {
    let mut request = [0; 4096];
    while let Ok(length) = connection.read(&mut request) {
        if !request[..length].ends_with(b"\r\n\r\n") {
            return;
        }
        std::hint::black_box(hot());
        let said = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        if connection.write_all(said).is_err() {
            return;
        }
    }
}

fn main() {
    let port = std::env::args().nth(1).expect("a port");
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).expect("a free port");
    for connection in listener.incoming().flatten() {
        std::thread::spawn(|| answer(connection));
    }
}
