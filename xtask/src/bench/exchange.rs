//! One small request by hand, and its answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, ensure};

/// For a machine that has much else to do.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How the body of every server ends.
const END: &[u8] = br#""Hello, World!"}"#;

/// The request as wrk sends it, byte for byte.
pub(super) fn request(port: u16) -> String {
    format!("GET /json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n")
}

/// Asks once and returns the whole answer; the connection stays open.
pub(super) fn ask(connection: &mut TcpStream) -> anyhow::Result<Vec<u8>> {
    let port = connection.peer_addr()?.port();
    connection.set_read_timeout(Some(LONGEST_WAIT))?;
    connection.write_all(request(port).as_bytes())?;
    let mut answer = Vec::new();
    while !answer.ends_with(END) {
        let mut buffer = [0; 4096];
        let read = connection.read(&mut buffer);
        let said = String::from_utf8_lossy(&answer);
        let bytes = read.with_context(|| format!("port {port} said no more than {said:?}"))?;
        ensure!(bytes > 0, "port {port} closed after {said:?}");
        answer.extend_from_slice(&buffer[..bytes]);
    }
    let is_well = answer.starts_with(b"HTTP/1.1 200 ");
    let said = String::from_utf8_lossy(&answer);
    ensure!(is_well, "port {port} answered {said:?}");
    Ok(answer)
}
