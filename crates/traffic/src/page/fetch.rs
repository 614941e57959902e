//! The end that sends requests: one page over one fresh connection, timed.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sys::{clock, socket};

use super::answer;

/// Timings and settings of one fetched page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// From the SYN to the connection, ns: one round trip.
    pub handshake_ns: u64,
    /// From the request to the last byte of the answer, ns.
    pub response_ns: u64,
    /// Payload of a full segment on this connection, bytes: what the options of both ends leave.
    pub segment_bytes: u32,
    /// How much the server could send before it heard from us again, bytes: our receive window.
    pub window_bytes: u32,
}

/// Fetches a page of `page_bytes`, head included.
///
/// # Errors
/// Those of connect(2) and read(2); `TimedOut` or `WouldBlock` when the page has not come within
/// the patience, `InvalidData` where the answer has another size.
pub fn fetch(server: SocketAddr, page_bytes: usize, patience: Duration) -> io::Result<Fetched> {
    let begun_ns = clock::monotonic_ns();
    let mut stream = TcpStream::connect_timeout(&server, patience)?;
    let connected_ns = clock::monotonic_ns();
    stream.set_nodelay(true)?;
    let window_bytes = socket::receive_window_bytes(stream.as_fd())?;
    let request = answer::request(page_bytes);
    let asked_ns = clock::monotonic_ns();
    stream.write_all(request.as_bytes())?;
    let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
    let came_ns = read_page(
        &mut stream,
        page_bytes,
        begun_ns.saturating_add(patience_ns),
    )?;
    Ok(Fetched {
        handshake_ns: connected_ns - begun_ns,
        response_ns: came_ns - asked_ns,
        segment_bytes: socket::segment_bytes(stream.as_fd())?,
        window_bytes,
    })
}

/// Reads to the end; returns when the last byte had come, ns.
fn read_page(stream: &mut TcpStream, page_bytes: usize, deadline_ns: u64) -> io::Result<u64> {
    let mut piece = vec![0; 64 * 1024];
    let (mut came, mut came_ns) = (0, 0);
    loop {
        let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
        if left_ns == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(Duration::from_nanos(left_ns)))?;
        let bytes = stream.read(&mut piece)?;
        if bytes == 0 {
            break;
        }
        came += bytes;
        came_ns = clock::monotonic_ns();
    }
    if came == page_bytes {
        return Ok(came_ns);
    }
    let what = format!("the answer had {came} bytes instead of {page_bytes}");
    Err(io::Error::new(io::ErrorKind::InvalidData, what))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;
    use crate::page::PageServer;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn pages_of_any_size_come_whole_and_are_timed() {
        let server = PageServer::listen(Ipv4Addr::LOCALHOST, None).unwrap();
        let address = server.address().unwrap();
        std::thread::spawn(move || server.serve());
        for page_bytes in [66, 14_480, 1_000_000] {
            let fetched = fetch(address, page_bytes, PATIENCE).unwrap();
            assert!(fetched.response_ns > 0 && fetched.handshake_ns > 0);
            assert!(fetched.segment_bytes > 500, "{fetched:?}");
        }
        // A page smaller than its head does not exist, so nothing comes.
        let error = fetch(address, 10, PATIENCE).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_page_that_drips_is_given_up_when_its_time_is_over() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let dripping = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // Sends until the client has gone, or for half a minute.
            let pause = || clock::wait_until(Duration::from_millis(10), || false);
            (0..3000)
                .take_while(|_| !pause() && stream.write_all(b"x").is_ok())
                .count()
        });
        let error = fetch(address, 14_480, Duration::from_millis(100)).unwrap_err();
        let late = [io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock];
        assert!(late.contains(&error.kind()), "{error}");
        assert!(dripping.join().unwrap() < 3000);
    }

    #[test]
    fn an_algorithm_that_the_kernel_lacks_is_an_error() {
        let error = PageServer::listen(Ipv4Addr::LOCALHOST, Some("no-such")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(2));
        let server = PageServer::listen(Ipv4Addr::LOCALHOST, Some("reno")).unwrap();
        assert_eq!(server.congestion_control(), "reno");
    }
}
