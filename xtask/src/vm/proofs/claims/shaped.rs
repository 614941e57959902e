//! The claim about packets that wait for what their connection may send.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};

use crate::vm::proofs::Seen;

/// What the guest's script tells fq, for each connection.
const MOST_BITS_PER_SECOND: f64 = 250_000.0;
/// A packet may leave up to half its time early, to make up for one before it that was late.
const SLACK: f64 = 1.1;
/// Of each of two connections, bytes of a file.
const FILE_BYTES: u64 = 30_000;

pub(super) fn by_fq(seen: &Seen) -> anyhow::Result<()> {
    let qdisc = |time: &str| seen.truth(&format!("fq.{time}.qdisc"));
    let (before, after) = (qdisc("before")?, qdisc("after")?);
    ensure!(
        before != "fq" && qdisc("paced")? == "fq" && after == before,
        "{before}, then {}, then {after}",
        qdisc("paced")?
    );
    let rates = |name: &str, rate: fn(&Sent) -> anyhow::Result<f64>| {
        let sent = each(&seen.files[name]).with_context(|| name.to_owned())?;
        let rates = sent.values().map(rate);
        rates.collect::<anyhow::Result<Vec<f64>>>()
    };
    let before = rates("sent.before", Sent::bits_per_second_but_for_a_stop)?;
    let paced = rates("sent.paced", Sent::bits_per_second)?;
    let after = rates("sent.after", Sent::bits_per_second_but_for_a_stop)?;
    hold_back(&before, &paced, &after)
}

/// No connection had more than its rate with fq, and each had more without.
fn hold_back(before: &[f64], paced: &[f64], after: &[f64]) -> anyhow::Result<()> {
    ensure!(
        paced
            .iter()
            .all(|rate| *rate <= MOST_BITS_PER_SECOND * SLACK),
        "with fq the connections had {paced:.0?} bit/s"
    );
    let mut free = before.iter().chain(after);
    ensure!(
        free.all(|rate| *rate > MOST_BITS_PER_SECOND * SLACK),
        "without fq the connections had {before:.0?} and {after:.0?} bit/s"
    );
    Ok(())
}

/// What left for one client: when the first and the last packet did, in seconds.
#[derive(Debug, Default, PartialEq)]
struct Sent {
    first: f64,
    last: f64,
    content_bytes: u64,
    /// Of all packets but the last one: so much had to wait until that left.
    bytes_before_last: u64,
    last_bytes: u64,
    longest_gap: f64,
}

impl Sent {
    fn add(&mut self, packet: &Packet<'_>) {
        if self.content_bytes == 0 {
            (self.first, self.last) = (packet.time, packet.time);
        }
        self.longest_gap = self.longest_gap.max(packet.time - self.last);
        self.last = packet.time;
        self.content_bytes += packet.content_bytes;
        self.bytes_before_last += self.last_bytes;
        self.last_bytes = packet.bytes;
    }

    fn bits_per_second(&self) -> anyhow::Result<f64> {
        self.bits_in(self.last - self.first)
    }

    /// A guest that this machine lets wait sends nothing meanwhile.
    fn bits_per_second_but_for_a_stop(&self) -> anyhow::Result<f64> {
        self.bits_in(self.last - self.first - self.longest_gap)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a file's bytes are far below 2^52"
    )]
    fn bits_in(&self, seconds: f64) -> anyhow::Result<f64> {
        let bytes = self.content_bytes;
        ensure!(bytes > FILE_BYTES, "{bytes} bytes were sent");
        Ok(self.bytes_before_last as f64 * 8.0 / seconds)
    }
}

/// Of each client what left for it, by its address and port, of which there must be two.
fn each(lines: &str) -> anyhow::Result<BTreeMap<&str, Sent>> {
    let mut each: BTreeMap<&str, Sent> = BTreeMap::new();
    for line in lines.lines() {
        let packet = Packet::of(line).with_context(|| line.to_owned())?;
        if packet.content_bytes > 0 {
            each.entry(packet.client).or_default().add(&packet);
        }
    }
    ensure!(each.len() == 2, "{} connections", each.len());
    Ok(each)
}

/// A line of tcpdump(8) with `-tt -e -q`: a packet, with its headers and what is behind them.
struct Packet<'l> {
    time: f64,
    client: &'l str,
    bytes: u64,
    content_bytes: u64,
}

impl<'l> Packet<'l> {
    fn of(line: &'l str) -> Option<Self> {
        let (time, rest) = line.split_once(' ')?;
        let (_, rest) = rest.split_once(", length ")?;
        let (bytes, rest) = rest.split_once(": ")?;
        let (way, content) = rest.split_once(": tcp ")?;
        Some(Self {
            time: time.parse().ok()?,
            client: way.split_once(" > ")?.1,
            bytes: bytes.parse().ok()?,
            content_bytes: content.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1,514 bytes to a client, so many seconds apart from each other.
    fn lines(client: &str, begin: f64, apart: f64) -> String {
        let line = |number: u32| {
            let time = begin + apart * f64::from(number);
            format!(
                "{time:.6} 52:54:0 > 52:54:1, IPv4, length 1514: 10.0.0.1.8081 > {client}: tcp 1448\n"
            )
        };
        (0..42).map(line).collect()
    }

    #[test]
    fn a_rate_is_of_all_that_waited_until_the_last_packet_left() {
        let ack = "5.1 52:54:0 > 52:54:1, IPv4, length 66: 10.0.0.1.8081 > a.1: tcp 0\n";
        let text = ack.to_owned() + &lines("a.1", 100.0, 0.048_448) + &lines("a.2", 100.5, 0.001);
        let each = each(&text).unwrap();
        let rate = |client| each[client].bits_per_second().unwrap().round();
        assert_eq!((rate("a.1"), rate("a.2")), (250_000.0, 12_112_000.0));
        let but_for_a_stop = each["a.1"].bits_per_second_but_for_a_stop().unwrap();
        assert_eq!(but_for_a_stop.round(), 256_250.0);
        assert!(super::each(ack).is_err() && super::each("?").is_err());
    }

    #[test]
    fn one_connection_above_its_rate_and_a_wire_that_is_slow_by_itself_are_no_proof() {
        let free = [9e6, 8e6];
        hold_back(&free, &[2.5e5, 2.4e5], &free).unwrap();
        hold_back(&free, &[2.5e5, 2.8e5], &free).unwrap_err();
        hold_back(&free, &[2.5e5, 2.4e5], &[9e6, 2.7e5]).unwrap_err();
    }
}
