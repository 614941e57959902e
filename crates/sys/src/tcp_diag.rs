//! What the kernel knows of TCP connections that are anybody's, by the socket diagnostics that ss(8)
//! asks: no privilege is needed, and sockets of this network namespace are seen alone.

use std::io;
use std::ops::ControlFlow;

use crate::netlink::{Family, Netlink, attributes, push_message};

/// `SOCK_DIAG_BY_FAMILY` of linux/sock_diag.h.
const BY_FAMILY: u16 = 20;
/// Length of `struct inet_diag_req_v2`, and of `struct inet_diag_msg` (linux/inet_diag.h).
const REQUEST_BYTES: usize = 56;
const ANSWER_BYTES: usize = 72;
/// `INET_DIAG_INFO`: the attribute that holds `struct tcp_info`.
const INFO: u16 = 2;
/// `TCP_ESTABLISHED` of net/tcp_states.h.
const ESTABLISHED: u32 = 1;
/// Where `tcp_info` has the bytes that were acknowledged (linux/tcp.h), since Linux 4.1.
const ACKED_AT: usize = 120;
/// Where it has the three times, since Linux 4.9.
const BUSY_AT: usize = 168;

/// How a connection's sending went since it was opened, as `struct tcp_info` counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// The port of the other end.
    pub peer_port: u16,
    /// What the other end has acknowledged: `tcpi_bytes_acked`.
    pub acked_bytes: u64,
    /// There was something to send, or unacknowledged: `tcpi_busy_time`, µs.
    pub busy_us: u64,
    /// Of that, the receiver's window let no more be sent: `tcpi_rwnd_limited`, µs.
    pub rwnd_limited_us: u64,
    /// Of that, the sender's buffer was too small to have more in flight: `tcpi_sndbuf_limited`, µs.
    pub sndbuf_limited_us: u64,
}

/// The open connections whose own end has this port.
///
/// # Errors
/// `EPROTONOSUPPORT` or `ENOENT` of kernels without `CONFIG_INET_DIAG`.
pub fn sending_from(port: u16) -> io::Result<Vec<Sending>> {
    let netlink = Netlink::open(Family::SocketDiagnostics)?;
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        netlink.ask(&request(family, port), 1, |message| {
            found.extend(sending(message.payload));
            ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}

fn request(family: libc::c_int, port: u16) -> Vec<u8> {
    let flags = u16::try_from(libc::NLM_F_REQUEST | libc::NLM_F_DUMP).unwrap_or(0);
    let mut datagram = Vec::new();
    push_message(&mut datagram, BY_FAMILY, flags, 1, |payload| {
        payload.extend([family, libc::IPPROTO_TCP].map(|number| number.to_ne_bytes()[0]));
        // The bit of INFO, and padding.
        payload.extend([1 << (INFO - 1), 0]);
        payload.extend((1_u32 << ESTABLISHED).to_ne_bytes());
        payload.extend(port.to_be_bytes());
        // Any port and address at the other end, any device.
        payload.extend([0; REQUEST_BYTES - 10]);
    });
    datagram
}

/// `None` for what is no answer, or of a kernel that does not count these times.
fn sending(answer: &[u8]) -> Option<Sending> {
    let peer_port = u16::from_be_bytes(answer.get(6..8)?.try_into().ok()?);
    let mut attributes = attributes(answer.get(ANSWER_BYTES..)?);
    let (_, info) = attributes.find(|(kind, _)| *kind == INFO)?;
    let number = |at: usize| Some(u64::from_ne_bytes(info.get(at..at + 8)?.try_into().ok()?));
    Some(Sending {
        peer_port,
        acked_bytes: number(ACKED_AT)?,
        busy_us: number(BUSY_AT)?,
        rwnd_limited_us: number(BUSY_AT + 8)?,
        sndbuf_limited_us: number(BUSY_AT + 16)?,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_sender_whose_receiver_does_not_read_is_limited_by_its_window() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        while server.write(&[0; 65_536]).is_ok() {}
        let limited = || sending_from(port).unwrap()[0].rwnd_limited_us > 0;
        assert!(crate::clock::wait_until(
            std::time::Duration::from_secs(20),
            limited
        ));
        let found = sending_from(port).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].peer_port, client.local_addr().unwrap().port());
        assert!(found[0].busy_us >= found[0].rwnd_limited_us);
        assert!(found[0].acked_bytes > 0, "{found:?}");
        client.read_exact(&mut [0; 16]).unwrap();
    }

    #[test]
    fn an_answer_cut_short_is_none() {
        assert_eq!(sending(&[0; ANSWER_BYTES]), None);
        assert_eq!(sending(&[]), None);
    }
}
