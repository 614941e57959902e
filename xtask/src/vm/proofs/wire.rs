//! What a packet socket saw of one side of a TLS connection, taken apart into records.

use anyhow::{Context as _, ensure};

/// Bytes before the first packet of a capture, and before each packet (pcap-savefile(5)).
const FILE_HEADER_BYTES: usize = 24;
const PACKET_HEADER_BYTES: usize = 16;
/// Before the IPv4 packet on loopback, which looks like Ethernet.
const LINK_HEADER_BYTES: usize = 14;
/// The first byte of a record with application data (RFC 8446 §5.1), and of that which says that
/// those after it are encrypted (RFC 5246 §7.1).
pub(super) const APPLICATION_DATA: u8 = 0x17;
const CHANGE_CIPHER_SPEC: u8 = 0x14;
/// Bytes of the nonce that begins an encrypted record of AES-GCM in TLS 1.2 (RFC 5288 §3).
const NONCE_BYTES: usize = 8;

/// A record: its type, and what is behind its header.
pub(super) struct Record<'c> {
    pub(super) kind: u8,
    pub(super) content: &'c [u8],
}

/// The nonces of a connection of TLS 1.2 with AES-GCM, in their order.
pub(super) fn nonces<'c>(records: &[Record<'c>]) -> Vec<&'c [u8]> {
    let is_clear = |record: &&Record<'_>| record.kind != CHANGE_CIPHER_SPEC;
    let encrypted = records.iter().skip_while(is_clear).skip(1);
    encrypted
        .filter_map(|record| record.content.get(..NONCE_BYTES))
        .collect()
}

/// What the packets of a capture carried, in their order: on loopback none is lost or sent twice.
pub(super) fn carried(capture: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut rest = capture.get(FILE_HEADER_BYTES..).context("no capture")?;
    let mut carried = Vec::new();
    while !rest.is_empty() {
        let length = rest.get(8..12).context("a packet without its length")?;
        let length = u32::from_le_bytes(length.try_into()?) as usize;
        let packet = rest.get(PACKET_HEADER_BYTES..PACKET_HEADER_BYTES + length);
        let packet = packet.context("a packet that was cut")?;
        carried.extend_from_slice(payload(packet).context("a packet that is no TCP")?);
        rest = &rest[PACKET_HEADER_BYTES + length..];
    }
    Ok(carried)
}

/// What follows the headers, whose lengths stand in them in words of four bytes.
fn payload(packet: &[u8]) -> Option<&[u8]> {
    let internet = packet.get(LINK_HEADER_BYTES..)?;
    let transport = internet.get(4 * usize::from(internet.first()? & 15)..)?;
    transport.get(4 * usize::from(transport.get(12)? >> 4)..)
}

/// The records, of which the last may not be cut.
pub(super) fn records(carried: &[u8]) -> anyhow::Result<Vec<Record<'_>>> {
    let (mut rest, mut records) = (carried, Vec::new());
    while let [kind, major, _, high, low, after @ ..] = rest {
        ensure!(
            *major == 3,
            "no record at byte {}",
            carried.len() - rest.len()
        );
        let bytes = usize::from(u16::from_be_bytes([*high, *low]));
        let (content, others) = after
            .split_at_checked(bytes)
            .context("the last record is cut")?;
        records.push(Record {
            kind: *kind,
            content,
        });
        rest = others;
    }
    ensure!(rest.is_empty(), "{} bytes are no record", rest.len());
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture of packets that carry these.
    fn capture(payloads: &[&[u8]]) -> Vec<u8> {
        let mut capture = vec![0; FILE_HEADER_BYTES];
        for payload in payloads {
            let mut packet = vec![0; LINK_HEADER_BYTES + 20 + 32];
            packet[LINK_HEADER_BYTES] = 0x45;
            packet[LINK_HEADER_BYTES + 20 + 12] = 8 << 4;
            packet.extend_from_slice(payload);
            capture.extend_from_slice(&[0; 8]);
            capture.extend_from_slice(&u32::try_from(packet.len()).unwrap().to_le_bytes());
            capture.extend_from_slice(&[0; 4]);
            capture.extend(packet);
        }
        capture
    }

    #[test]
    fn records_are_found_however_they_are_cut_into_packets() {
        let pieces = [&b"\x16\x03\x03\0\x02ab\x17\x03"[..], b"", b"\x03\0\x01c"];
        let carried = carried(&capture(&pieces)).unwrap();
        let records = records(&carried).unwrap();
        let kinds: Vec<_> = records.iter().map(|one| (one.kind, one.content)).collect();
        assert_eq!(kinds, [(0x16, &b"ab"[..]), (APPLICATION_DATA, b"c")]);
    }

    #[test]
    fn nonces_are_those_of_the_records_behind_the_change_of_cipher() {
        let carried = b"\x16\x03\x03\0\x01a\x14\x03\x03\0\x01\x01\
            \x16\x03\x03\0\x0912345678x\x17\x03\x03\0\x0987654321x";
        let records = records(carried).unwrap();
        assert_eq!(nonces(&records), [b"12345678", b"87654321"]);
    }

    #[test]
    fn what_is_in_the_clear_is_no_record() {
        for clear in [
            &b"HTTP/1.1 200 OK"[..],
            b"\x17\x03\x03\0\x05ab",
            b"\x17\x03",
        ] {
            let carried = carried(&capture(&[clear])).unwrap();
            assert!(records(&carried).is_err(), "{clear:?}");
        }
    }
}
