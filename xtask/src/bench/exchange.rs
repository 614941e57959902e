//! One small request by hand, and its answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use anyhow::ensure;

/// How the body of every server ends.
const END: &[u8] = br#""Hello, World!"}"#;

/// The request as wrk sends it, byte for byte.
pub(super) fn request(port: u16) -> String {
    format!("GET /json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")
}

/// Asks once and returns the whole answer; the connection stays open.
pub(super) fn ask(connection: &mut TcpStream) -> anyhow::Result<Vec<u8>> {
    let port = connection.peer_addr()?.port();
    connection.write_all(request(port).as_bytes())?;
    let mut answer = Vec::new();
    while !answer.ends_with(END) {
        let mut buffer = [0; 4096];
        let bytes = connection.read(&mut buffer)?;
        let said = String::from_utf8_lossy(&answer);
        ensure!(bytes > 0, "port {port} closed after {said:?}");
        answer.extend_from_slice(&buffer[..bytes]);
    }
    Ok(answer)
}
