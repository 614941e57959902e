//! The claim about packets that wait for what their connection may send.

use anyhow::{Context as _, ensure};

use crate::vm::proofs::GuestFindings;

/// What the guest's script tells fq, for each connection.
const MOST_BITS_PER_SECOND: f64 = 250_000.0;
/// A packet may leave up to half its time early, to make up for one before it that was late.
const SLACK: f64 = 1.1;
/// Of each of two connections, bytes of a file.
const FILE_BYTES: f64 = 30_000.0;

pub(super) fn by_fq(seen: &GuestFindings) -> anyhow::Result<()> {
    let qdisc = |time: &str| seen.truth(&format!("fq.{time}.qdisc"));
    let (before, paced, after) = (qdisc("before")?, qdisc("paced")?, qdisc("after")?);
    ensure!(
        before != "fq" && paced == "fq" && after == before,
        "{before}, then {paced}, then {after}"
    );
    let rates = |time: &str| rates(seen.truth(&format!("fq.{time}.rates"))?);
    let but_for_a_stop = |time: &str| anyhow::Ok(rates(time)?.map(|(_, rate)| rate));
    hold_back(
        &but_for_a_stop("before")?,
        &rates("paced")?.map(|(rate, _)| rate),
        &but_for_a_stop("after")?,
    )
}

/// The two rates of each of two connections, by what rates.awk tells of them.
fn rates(told: &str) -> anyhow::Result<[(f64, f64); 2]> {
    let numbers = told.split_whitespace().map(str::parse);
    let numbers: Vec<f64> = numbers.collect::<Result<_, _>>()?;
    let of_each = numbers.chunks_exact(3).map(|one| {
        let bytes = one[0];
        ensure!(bytes > FILE_BYTES, "{bytes} bytes were sent");
        Ok((one[1], one[2]))
    });
    let of_each: Vec<(f64, f64)> = of_each.collect::<Result<_, _>>()?;
    let both = of_each.try_into().ok();
    both.with_context(|| format!("two connections, not `{told}`"))
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

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

    /// What rates.awk makes of lines of tcpdump.
    fn told(lines: &str) -> String {
        let mut awk = Command::new("awk")
            .arg(include_str!("../rates.awk"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        awk.stdin
            .take()
            .unwrap()
            .write_all(lines.as_bytes())
            .unwrap();
        String::from_utf8(awk.wait_with_output().unwrap().stdout).unwrap()
    }

    #[test]
    fn a_rate_is_of_all_that_waited_until_the_last_packet_left() {
        let ack = "5.1 52:54:0 > 52:54:1, IPv4, length 66: 10.0.0.1.8081 > a.1: tcp 0\n";
        let text = ack.to_owned() + &lines("a.1", 100.0, 0.048_448) + &lines("a.2", 100.5, 0.001);
        let mut rates = rates(&told(&text)).unwrap();
        rates.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert_eq!(rates[0], (250_000.0, 256_250.0));
        assert_eq!(rates[1].0, 12_112_000.0);
        assert!(super::rates(&told(ack)).is_err() && super::rates("?").is_err());
    }

    #[test]
    fn one_connection_above_its_rate_and_a_wire_that_is_slow_by_itself_are_no_proof() {
        let free = [9e6, 8e6];
        hold_back(&free, &[2.5e5, 2.4e5], &free).unwrap();
        hold_back(&free, &[2.5e5, 2.8e5], &free).unwrap_err();
        hold_back(&free, &[2.5e5, 2.4e5], &[9e6, 2.7e5]).unwrap_err();
    }
}
