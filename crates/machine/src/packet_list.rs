//! Reads `/proc/net/packet`, the kernel's list of packet sockets.

/// `ETH_P_ALL`: the protocol number of a socket that receives every packet.
const EVERY_PROTOCOL: u16 = 3;

/// One packet socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketSocket {
    /// The protocol whose packets it receives, 3 for all.
    pub(crate) protocol: u16,
    pub(crate) inode: u64,
}

impl PacketSocket {
    /// Whether it receives packets of every protocol, and so costs something on each.
    pub(crate) fn sees_every_protocol(self) -> bool {
        self.protocol == EVERY_PROTOCOL
    }
}

/// Parses the file's text. Lines that describe no socket are left out.
pub(crate) fn parse(text: &str) -> Vec<PacketSocket> {
    text.lines().skip(1).filter_map(socket).collect()
}

/// Parses one line. Columns: address, references, type, protocol (hexadecimal), device, running,
/// memory, user, inode.
fn socket(line: &str) -> Option<PacketSocket> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, protocol, _, _, _, _, inode] = columns[..] else {
        return None;
    };
    Some(PacketSocket {
        protocol: u16::from_str_radix(protocol, 16).ok()?,
        inode: inode.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_read_with_their_protocol_and_inode() {
        let text = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n\
                    0000000000000000 3      3    0003   2     1 0      0      20345 \n\
                    0000000000000000 3      2    88cc   0     1 0      101    20400 \n";
        let sockets = parse(text);
        assert_eq!(
            sockets[0],
            PacketSocket {
                protocol: 3,
                inode: 20345
            }
        );
        assert!(sockets[0].sees_every_protocol() && !sockets[1].sees_every_protocol());
    }

    #[test]
    fn lines_that_are_no_socket_are_left_out() {
        assert_eq!(parse(""), []);
        assert_eq!(parse("heading\n0 3 3\n0 3 3 zzzz 0 1 0 0 9\n\n"), []);
    }
}
