//! Reads `/proc/net/tcp` and `/proc/net/tcp6`, the kernel's lists of TCP sockets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// One TCP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpSocket {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) state: TcpState,
    pub(crate) inode: u64,
}

/// The states that matter here (`TCP_ESTABLISHED` and `TCP_LISTEN` of the kernel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TcpState {
    Established,
    Listening,
    Other,
}

/// Whether an address stays within the machine, in either family or mapped into the other.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Parses the text of either file, or of both. Lines that are no sockets, such as headings, are
/// skipped.
pub(crate) fn parse(text: &str) -> Vec<TcpSocket> {
    text.lines().filter_map(socket).collect()
}

/// Parses a line. Columns: number, local, remote, state, queues, timer, retransmits, user, timeout,
/// inode, …
fn socket(line: &str) -> Option<TcpSocket> {
    let mut columns = line.split_whitespace().skip(1);
    let local = socket_address(columns.next()?)?;
    let remote = socket_address(columns.next()?)?;
    let state = match columns.next()? {
        "01" => TcpState::Established,
        "0A" => TcpState::Listening,
        _ => TcpState::Other,
    };
    let inode = columns.nth(5)?.parse().ok()?;
    Some(TcpSocket {
        local,
        remote,
        state,
        inode,
    })
}

/// Parses address and port in hexadecimal; the address is words of 32 bits in the machine's byte
/// order.
fn socket_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = address.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let address = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(at)?);
            }
            IpAddr::from(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded on a little-endian machine, as all that we build for are.
    const RECORDED: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1145 1 0000000064 100 0 0 10 0
   1: 0200A8C0:0016 0500A8C0:D431 01 00000000:00000000 02:000AF0B5 00000000     0        0 2290 4 0000000065 20 4 30 10 -1
";

    #[test]
    fn listeners_and_connections_are_read() {
        let sockets = parse(RECORDED);
        assert_eq!(sockets[0].local, "127.0.0.1:8080".parse().unwrap());
        assert_eq!(
            (sockets[0].state, sockets[0].inode),
            (TcpState::Listening, 1145)
        );
        assert_eq!(sockets[1].remote, "192.168.0.5:54321".parse().unwrap());
        assert_eq!(sockets[1].state, TcpState::Established);
    }

    #[test]
    fn loopback_is_known_in_both_families_and_mapped() {
        let local = |text: &str| socket_address(text).unwrap().ip();
        assert!(is_loopback(local("0100007F:0050")));
        assert!(is_loopback(local("00000000000000000000000001000000:0050")));
        assert!(is_loopback(local("0000000000000000FFFF00000100007F:0050")));
        assert!(!is_loopback(local("00000000000000000000000000000000:0050")));
    }

    #[test]
    fn lines_that_are_no_socket_are_left_out() {
        for line in [
            "",
            "0: zz:1 0:0 0A",
            "0: 0100007F:1F90",
            "0: 0100007:1F90 0:0 0A a b c d e 1",
        ] {
            assert_eq!(parse(&format!("heading\n{line}\n")), [], "{line}");
        }
    }
}
