//! A paced stream of numbered packets.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

pub(super) const ETHERNET_HEADER_BYTES: usize = 14;
/// Bytes of the IPv4 and UDP headers.
const PACKET_HEADER_BYTES: usize = 20 + 8;
/// Position of the number in a packet, after the headers.
const NUMBER_AT: std::ops::Range<usize> = PACKET_HEADER_BYTES..PACKET_HEADER_BYTES + 8;
/// Destination port. It is checked before the number is read, so that no other packet of the host
/// is taken for one of ours.
pub(super) const PORT: u16 = 19_810;

/// A stream of packets of one size, evenly spaced.
pub(super) struct Stream {
    pub(super) packets_per_second: u64,
    pub(super) frame_bytes: usize,
    pub(super) seconds: u64,
}

impl Stream {
    pub(super) fn packets(&self) -> u64 {
        self.packets_per_second * self.seconds
    }

    /// Sends all packets to a host, from the network namespace of the calling thread.
    pub(super) fn send_to(&self, host: Ipv4Addr) -> io::Result<()> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect((host, PORT))?;
        let mut payload = vec![0; self.frame_bytes - ETHERNET_HEADER_BYTES - PACKET_HEADER_BYTES];
        let begun_ns = sys::clock::monotonic_ns();
        for number in 0..self.packets() {
            let due_ns = begun_ns + number * 1_000_000_000 / self.packets_per_second;
            while sys::clock::monotonic_ns() < due_ns {
                std::hint::spin_loop();
            }
            payload[..8].copy_from_slice(&number.to_be_bytes());
            socket.send(&payload)?;
        }
        Ok(())
    }
}

/// The number of a packet of a stream; `None` for any other packet, such as ARP.
pub(super) fn number(packet: &[u8]) -> Option<u64> {
    let port = packet.get(22..24)?;
    let number = packet.get(NUMBER_AT)?;
    let is_ours = packet[0] == 0x45 && packet[9] == 17 && port == PORT.to_be_bytes();
    is_ours.then(|| u64::from_be_bytes(number.try_into().expect("a range of eight")))
}
