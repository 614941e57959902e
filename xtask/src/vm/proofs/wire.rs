//! Splits a capture of one direction of a TLS connection into records.

use anyhow::{Context as _, ensure};

/// Bytes of a capture file's header, and of the header before each packet (pcap-savefile(5)).
const FILE_HEADER_BYTES: usize = 24;
const PACKET_HEADER_BYTES: usize = 16;
/// Bytes before the IPv4 packet on loopback, which looks like Ethernet.
const LINK_HEADER_BYTES: usize = 14;
/// The first byte of a record with application data (RFC 8446 §5.1), and of the record after which
/// all are encrypted (RFC 5246 §7.1).
pub(super) const APPLICATION_DATA: u8 = 0x17;
const CHANGE_CIPHER_SPEC: u8 = 0x14;
/// Bytes of the explicit nonce at the start of an encrypted AES-GCM record of TLS 1.2 (RFC 5288
/// §3).
const NONCE_BYTES: usize = 8;

/// A record: its type, and the content after its header.
pub(super) struct Record<'c> {
    pub(super) kind: u8,
    pub(super) content: &'c [u8],
}

/// The nonces of a TLS 1.2 connection with AES-GCM, in the order of the records.
pub(super) fn nonces<'c>(records: &[Record<'c>]) -> Vec<&'c [u8]> {
    let is_clear = |record: &&Record<'_>| record.kind != CHANGE_CIPHER_SPEC;
    let encrypted = records.iter().skip_while(is_clear).skip(1);
    encrypted
        .filter_map(|record| record.content.get(..NONCE_BYTES))
        .collect()
}

/// The bytes that the packets of one direction of a connection carried, from its SYN on, in the
/// order of their sequence numbers. Bytes that a busy machine sent twice count once; missing bytes
/// are an error.
pub(super) fn carried(capture: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut rest = capture.get(FILE_HEADER_BYTES..).context("no capture")?;
    let (mut carried, mut first) = (Vec::new(), None);
    while !rest.is_empty() {
        let length = rest.get(8..12).context("a packet without its length")?;
        let length = u32::from_le_bytes(length.try_into()?) as usize;
        let packet = rest.get(PACKET_HEADER_BYTES..PACKET_HEADER_BYTES + length);
        let packet = packet.context("a packet that was cut")?;
        let (sequence, payload) = payload(packet).context("a packet that is no TCP")?;
        // The SYN takes one sequence number.
        let first = *first.get_or_insert_with(|| sequence.wrapping_add(1));
        rest = &rest[PACKET_HEADER_BYTES + length..];
        if payload.is_empty() {
            continue;
        }
        let at = sequence.wrapping_sub(first) as usize;
        ensure!(
            at <= carried.len(),
            "the capture lacks bytes from {} to {at}",
            carried.len()
        );
        let known = carried.len() - at;
        carried.extend_from_slice(payload.get(known..).unwrap_or_default());
    }
    Ok(carried)
}

/// A packet's sequence number and payload. The headers give their own lengths in words of four
/// bytes.
fn payload(packet: &[u8]) -> Option<(u32, &[u8])> {
    let internet = packet.get(LINK_HEADER_BYTES..)?;
    let transport = internet.get(4 * usize::from(internet.first()? & 15)..)?;
    let sequence = u32::from_be_bytes(transport.get(4..8)?.try_into().ok()?);
    let payload = transport.get(4 * usize::from(transport.get(12)? >> 4)..)?;
    Some((sequence, payload))
}

/// Splits bytes into records; an incomplete last record is an error.
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

    /// A capture of a SYN and of packets with these payloads at these positions of the connection.
    fn capture_at(payloads: &[(u32, &[u8])]) -> Vec<u8> {
        const SYN: u32 = u32::MAX - 2;
        let mut capture = vec![0; FILE_HEADER_BYTES];
        let sent = payloads
            .iter()
            .map(|(at, payload)| (SYN.wrapping_add(1 + at), *payload));
        for (sequence, payload) in std::iter::once((SYN, &b""[..])).chain(sent) {
            let mut packet = vec![0; LINK_HEADER_BYTES + 20 + 32];
            packet[LINK_HEADER_BYTES] = 0x45;
            packet[LINK_HEADER_BYTES + 24..][..4].copy_from_slice(&sequence.to_be_bytes());
            packet[LINK_HEADER_BYTES + 20 + 12] = 8 << 4;
            packet.extend_from_slice(payload);
            capture.extend_from_slice(&[0; 8]);
            capture.extend_from_slice(&u32::try_from(packet.len()).unwrap().to_le_bytes());
            capture.extend_from_slice(&[0; 4]);
            capture.extend(packet);
        }
        capture
    }

    /// A capture of packets with these consecutive payloads.
    fn capture(payloads: &[&[u8]]) -> Vec<u8> {
        let mut at = 0;
        let placed = payloads.iter().map(|payload| {
            let before = at;
            at += u32::try_from(payload.len()).unwrap();
            (before, *payload)
        });
        capture_at(&placed.collect::<Vec<_>>())
    }

    #[test]
    fn what_was_sent_twice_counts_once_and_what_is_missing_is_named() {
        let twice = capture_at(&[(0, b"abc"), (0, b"abc"), (2, b"cde"), (5, b"f")]);
        assert_eq!(carried(&twice).unwrap(), b"abcdef");
        let error = carried(&capture_at(&[(0, b"abc"), (4, b"e")])).unwrap_err();
        assert_eq!(error.to_string(), "the capture lacks bytes from 3 to 4");
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
