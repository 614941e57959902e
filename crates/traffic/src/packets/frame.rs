//! Raw packets: Ethernet frames with a UDP datagram in them, between the ends of a rig.
//!
//! Their Ethernet addresses belong to nobody, so the far end's network stack drops them after a
//! packet socket has received them.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a folded sum and the length of a header fit 16 bits"
)]

use super::SMALLEST_BYTES;

/// Size of the headers of Ethernet, IPv4 and UDP.
pub(super) const HEADER_BYTES: usize = 42;
const ETHERNET_BYTES: usize = 14;
/// Size of the shortest Ethernet frame, without its checksum.
pub(super) const SMALLEST_FRAME_BYTES: usize = 60;
const _: () = assert!(HEADER_BYTES + 2 * SMALLEST_BYTES <= SMALLEST_FRAME_BYTES);
/// Size of `virtio_net_hdr`, which precedes a send that the kernel cuts.
pub(super) const CUT_BYTES: usize = 10;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM` and `VIRTIO_NET_HDR_GSO_UDP_L4` of linux/virtio_net.h.
const NEEDS_CHECKSUM: u8 = 1;
const CUT_UDP: u8 = 5;
/// Offset of the UDP header, where the kernel starts its checksum, and offset of the checksum from
/// there.
const UDP_AT: u16 = 34;
const CHECKSUM_AT: u16 = 6;

/// All headers without lengths and checksums: locally administered Ethernet addresses, the IP
/// addresses of the rig's ends, and the discard port (RFC 863).
const HEADER: [u8; HEADER_BYTES] = [
    2, 0, 0, 0x6c, 0x72, 2, 2, 0, 0, 0x6c, 0x72, 1, 8, 0, // Ethernet
    0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2, // IPv4
    0, 9, 0, 9, 0, 0, 0, 0, // UDP
];

/// Writes the headers of a frame, or of a send that is cut into several; `bytes` is the whole
/// length.
pub(super) fn write_header(frame: &mut [u8], bytes: usize) {
    let Some(header) = frame.first_chunk_mut::<HEADER_BYTES>() else {
        return;
    };
    *header = HEADER;
    let ip_bytes = u16::try_from(bytes - ETHERNET_BYTES).unwrap_or(u16::MAX);
    header[16..18].copy_from_slice(&ip_bytes.to_be_bytes());
    let checksum = !sum(&header[ETHERNET_BYTES..34]);
    header[24..26].copy_from_slice(&checksum.to_be_bytes());
    header[38..40].copy_from_slice(&ip_bytes.saturating_sub(20).to_be_bytes());
}

/// Writes what precedes a send of `bytes`, headers included, that the kernel cuts into payloads of
/// `each` bytes.
pub(super) fn write_cut(place: &mut [u8], bytes: usize, each: usize) {
    let each = u16::try_from(each).unwrap_or(u16::MAX);
    let (cut, frame) = place.split_at_mut(CUT_BYTES);
    write_header(frame, bytes);
    // The kernel continues from the sum of the pseudo header: addresses, protocol and length.
    let udp_length = [frame[38], frame[39]];
    let pseudo = [&frame[26..34], &[0, 17], &udp_length].concat();
    frame[40..42].copy_from_slice(&sum(&pseudo).to_be_bytes());
    cut[..2].copy_from_slice(&[NEEDS_CHECKSUM, CUT_UDP]);
    let numbers = [HEADER_BYTES as u16, each, UDP_AT, CHECKSUM_AT];
    for (place, number) in cut[2..].chunks_exact_mut(2).zip(numbers) {
        place.copy_from_slice(&number.to_ne_bytes());
    }
}

/// Returns the number and time in a frame, if the frame is one of ours.
pub(super) fn payload(frame: &[u8]) -> Option<&[u8]> {
    let (header, payload) = frame.split_at_checked(HEADER_BYTES)?;
    let is_ours =
        header[..ETHERNET_BYTES] == HEADER[..ETHERNET_BYTES] && header[26..38] == HEADER[26..38];
    is_ours.then_some(payload)
}

/// Computes the checksum of RFC 1071, not complemented.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks_exact(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_frame_has_its_lengths_and_a_checksum_that_is_right() {
        let mut frame = [0; 64];
        write_header(&mut frame, 64);
        assert_eq!(frame[16..18], [0, 50]);
        assert_eq!(frame[38..40], [0, 30]);
        assert_eq!(sum(&frame[14..34]), 0xffff);
        assert_eq!(payload(&frame).unwrap().len(), 22);
        frame[0] = 0;
        assert_eq!(payload(&frame), None);
        assert_eq!(payload(&frame[..41]), None);
    }
}
