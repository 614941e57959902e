//! How TCP connections are doing: our own by `TCP_INFO`, and those of any process by the socket
//! diagnostics.

use std::io;
use std::os::fd::BorrowedFd;

use crate::socket::option;
use crate::tcp_diag::{self, ACKED_AT, RECEIVED_AT, bytes, info, number};

/// Room for `struct tcp_info` of any kernel; fields that an older kernel does not report stay 0.
type Raw = [u8; 256];
/// `TCP_ESTABLISHED` of net/tcp_states.h.
const ESTABLISHED: u32 = 1 << 1;
/// The states in which our own end (FIN) is not acknowledged yet, also of net/tcp_states.h.
const FIN_WAIT1: u8 = 4;
const CLOSING: u8 = 11;
/// Where `tcp_info` has the three times `busy_us` and following (linux/tcp.h).
const BUSY_AT: usize = 168;

/// What the kernel reports of a connection: since it was opened, unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round trip time now, µs.
    pub rtt_us: u32,
    /// Variation of the round trip time now, µs.
    pub rtt_variation_us: u32,
    /// The congestion window now, segments.
    pub window_segments: u32,
    /// Payload of a full segment that we send, bytes.
    pub segment_bytes: u32,
    /// The largest packet that the path is thought to carry, bytes.
    pub path_mtu_bytes: u32,
    /// The other end's window now, bytes (Linux 5.4).
    pub peer_window_bytes: u32,
    /// Segments that were retransmitted.
    pub retransmits: u32,
    /// Segments that the other end reports to have had already: needless retransmissions (DSACK;
    /// Linux 4.19).
    pub had_already: u32,
    /// Segments with payload that were sent, including retransmissions (Linux 4.6).
    pub segments_out: u32,
    /// Delivery rate that the kernel measured last, bytes a second (Linux 4.9).
    pub delivery_bytes_per_s: u64,
    /// Payload that the other end acknowledged, bytes.
    pub acked_bytes: u64,
    /// Payload received, bytes.
    pub received_bytes: u64,
    /// Time in which there was something to send or to be acknowledged, µs (this and the next two:
    /// Linux 4.9).
    pub busy_us: u64,
    /// Part of that time in which the other end's window let no more be sent, µs.
    pub rwnd_limited_us: u64,
    /// Part of that time in which our own send buffer was too small to hold more to send, µs.
    pub sndbuf_limited_us: u64,
}

impl TcpInfo {
    /// Asks the kernel for a socket's counters.
    ///
    /// # Errors
    /// `ENOPROTOOPT` for a socket that is not of TCP.
    pub fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let nothing: Raw = [0; 256];
        let raw = option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, nothing)?;
        Ok(Self::read(&raw))
    }

    /// Asks for the open connections whose own end has this port; each comes with the port of its
    /// other end.
    ///
    /// # Errors
    /// `EPROTONOSUPPORT` or `ENOENT` of kernels without `CONFIG_INET_DIAG`.
    pub fn of_port(port: u16) -> io::Result<Vec<(u16, Self)>> {
        tcp_diag::each(&tcp_diag::open()?, ESTABLISHED, port, |answer| {
            let peer_port = u16::from_be_bytes(bytes(answer, 6)?);
            let info = info(answer)?;
            // Kernels before Linux 4.9 report no times. Such an answer is left out: 0 would look
            // like a measured time.
            number(info, BUSY_AT + 16)?;
            Some((peer_port, Self::read(info)))
        })
    }

    /// Reads the fields, at their places in linux/tcp.h.
    fn read(raw: &[u8]) -> Self {
        let short = |at| bytes(raw, at).map_or(0, u32::from_ne_bytes);
        let long = |at| number(raw, at).unwrap_or(0);
        Self {
            rtt_us: short(68),
            rtt_variation_us: short(72),
            window_segments: short(80),
            segment_bytes: short(16),
            path_mtu_bytes: short(60),
            peer_window_bytes: short(228),
            retransmits: short(100),
            had_already: short(216),
            segments_out: short(156),
            delivery_bytes_per_s: long(160),
            acked_bytes: long(ACKED_AT),
            received_bytes: long(RECEIVED_AT),
            busy_us: long(BUSY_AT),
            rwnd_limited_us: long(BUSY_AT + 8),
            sndbuf_limited_us: long(BUSY_AT + 16),
        }
    }
}

/// Payload that the other end of a connection has acknowledged, while our own end was sent and is
/// not acknowledged. `None` once everything including the end is acknowledged, where no end was
/// sent, and for a socket that is not of TCP.
pub fn acked_before_end(socket: BorrowedFd<'_>) -> Option<u64> {
    let nothing: Raw = [0; 256];
    let raw = option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, nothing).ok()?;
    let is_under_way = matches!(raw[0], FIN_WAIT1 | CLOSING);
    is_under_way.then(|| number(&raw, ACKED_AT).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn what_was_sent_and_acknowledged_is_told_at_both_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        near.write_all(&[0; 5000]).unwrap();
        far.read_exact(&mut [0; 5000]).unwrap();
        let acked = || TcpInfo::of(near.as_fd()).unwrap().acked_bytes >= 5000;
        assert!(crate::clock::wait_until(
            std::time::Duration::from_secs(20),
            acked
        ));
        let info = TcpInfo::of(near.as_fd()).unwrap();
        assert!(
            info.segment_bytes > 500 && info.window_segments > 0,
            "{info:?}"
        );
        assert!(info.segments_out >= 1 && info.retransmits == 0, "{info:?}");
        assert_eq!(TcpInfo::of(far.as_fd()).unwrap().received_bytes, 5000);
    }

    #[test]
    fn a_sender_whose_receiver_does_not_read_is_limited_by_its_window() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        while server.write(&[0; 65_536]).is_ok() {}
        let limited = || TcpInfo::of_port(port).unwrap()[0].1.rwnd_limited_us > 0;
        assert!(crate::clock::wait_until(
            std::time::Duration::from_secs(20),
            limited
        ));
        let found = TcpInfo::of_port(port).unwrap();
        let [(peer_port, info)] = found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(peer_port, client.local_addr().unwrap().port());
        assert!(info.busy_us >= info.rwnd_limited_us, "{info:?}");
        assert!(info.acked_bytes > 0, "{info:?}");
        client.read_exact(&mut [0; 16]).unwrap();
    }
}
