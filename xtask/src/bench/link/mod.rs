//! Measures from outside how closely an emulated link does what was asked of it. Our packet sockets
//! in the hosts' namespaces capture both ends, and the kernel stamps the times.

mod ends;
mod judge;
mod sending;

use std::path::Path;

use ends::{Ends, SeenAtEnds};
use judge::Finding;
use sending::Stream;

const SECONDS: u64 = 5;
/// An Ethernet frame of the usual MTU.
const FULL_FRAME_BYTES: usize = 1514;
const SMALL_FRAME_BYTES: usize = 100;
/// How many times a case is tried until the rate that it asks for was offered.
const TRIES: usize = 3;

/// Runs each case; true when each meets its bars.
pub(super) fn run(linerate: &Path) -> anyhow::Result<bool> {
    let (cpus, others) = (sys::cpu::allowed()?.len(), ends::other_work()?);
    println!(
        "link: {cpus} CPUs for sender, link and both captures; other work uses {others:.0} % of one"
    );
    let mut kept = true;
    for case in &CASES {
        kept &= case.run(linerate)?;
    }
    Ok(kept)
}

/// A stream over a link, and the bars that it must meet.
struct Case {
    name: &'static str,
    /// The flags of `linerate link`.
    shape: &'static [&'static str],
    stream: Stream,
    judge: fn(&SeenAtEnds) -> Vec<Finding>,
}

impl Case {
    /// Runs the case; true when it was measured and meets its bars.
    fn run(&self, linerate: &Path) -> anyhow::Result<bool> {
        let name = self.name;
        for _ in 0..TRIES {
            let seen = Ends::up(linerate, self.shape)?.carry(&self.stream)?;
            let (is_as_asked, offered) = judge::offered(&seen, self.stream.packets_per_second);
            println!("         {offered}  [{name}]");
            if is_as_asked {
                let findings = (self.judge)(&seen);
                for (is_kept, words) in &findings {
                    let word = if *is_kept { "kept  " } else { "MISSED" };
                    println!("  {word} {words}  [{name}]");
                }
                return Ok(findings.iter().all(|(is_kept, _)| *is_kept));
            }
        }
        println!(
            "  NOT MEASURED in {TRIES} tries: this machine did not offer what was asked  [{name}]"
        );
        Ok(false)
    }
}

const DELAY_NS: u64 = 10_000_000;

const CASES: [Case; 4] = [
    Case {
        name: "--delay 10ms, 20,000 packets/s",
        shape: &["--delay", "10ms"],
        stream: small(20_000),
        judge: |seen| {
            vec![
                judge::delay(seen, DELAY_NS, 0.99, 200_000),
                judge::in_order(seen),
                judge::none_missing(seen),
            ]
        },
    },
    Case {
        name: "--delay 10ms, 100,000 packets/s",
        shape: &["--delay", "10ms"],
        stream: small(100_000),
        judge: |seen| {
            vec![
                judge::delay(seen, DELAY_NS, 0.50, 100_000),
                judge::in_order(seen),
                judge::none_missing(seen),
            ]
        },
    },
    Case {
        name: "--rate 200Mbit/s, offered 1.25 times that",
        shape: &["--delay", "1ms", "--rate", "200Mbit/s", "--queue", "100"],
        stream: Stream {
            packets_per_second: 20_645,
            frame_bytes: FULL_FRAME_BYTES,
            seconds: SECONDS,
        },
        judge: |seen| vec![judge::rate(seen, 200e6, 0.01), judge::in_order(seen)],
    },
    Case {
        name: "--loss 1%, 20,000 packets/s",
        shape: &["--delay", "1ms", "--loss", "1%"],
        stream: small(20_000),
        judge: |seen| vec![judge::loss(seen, 0.01), judge::in_order(seen)],
    },
];

const fn small(packets_per_second: u64) -> Stream {
    Stream {
        packets_per_second,
        frame_bytes: SMALL_FRAME_BYTES,
        seconds: SECONDS,
    }
}
