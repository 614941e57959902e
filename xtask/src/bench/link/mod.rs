//! How true an emulated link is to what it was asked for, seen from outside: both ends are
//! captured by packet sockets of ours in the hosts' namespaces, and the times are the kernel's.

mod ends;
mod judge;
mod sending;

use std::path::Path;

use ends::Ends;
use judge::Finding;
use sending::Stream;

const SECONDS: u64 = 5;
/// An Ethernet frame of the usual MTU.
const FULL_FRAME_BYTES: usize = 1514;
const SMALL_FRAME_BYTES: usize = 100;

/// Runs each case; true when each keeps its bar.
pub(super) fn run(linerate: &Path) -> anyhow::Result<bool> {
    let (cpus, others) = (sys::cpu::allowed()?.len(), ends::other_work()?);
    println!(
        "link: {cpus} CPUs for sender, link and both captures; other work uses {others:.0} % of one"
    );
    let mut kept = true;
    for (name, case) in CASES {
        let findings = case(linerate)?;
        for finding in findings {
            println!("  {finding}  [{name}]");
            kept &= finding.holds();
        }
    }
    Ok(kept)
}

type Case = fn(&Path) -> anyhow::Result<Vec<Finding>>;

const CASES: [(&str, Case); 4] = [
    ("--delay 10ms, 20,000 packets/s", delay_at_20_kpps),
    ("--delay 10ms, 100,000 packets/s", delay_at_100_kpps),
    ("--rate 200Mbit/s, offered 1.25 times that", rate),
    ("--loss 1%, 20,000 packets/s", loss),
];

const DELAY_NS: u64 = 10_000_000;

fn delay_at_20_kpps(linerate: &Path) -> anyhow::Result<Vec<Finding>> {
    let seen = Ends::up(linerate, &["--delay", "10ms"])?.carry(&small(20_000))?;
    let mut findings = vec![
        judge::delay_p99(&seen, DELAY_NS, 200_000),
        judge::in_order(&seen),
    ];
    findings.push(judge::none_missing(&seen));
    Ok(findings)
}

fn delay_at_100_kpps(linerate: &Path) -> anyhow::Result<Vec<Finding>> {
    let seen = Ends::up(linerate, &["--delay", "10ms"])?.carry(&small(100_000))?;
    let mut findings = vec![
        judge::delay_p50(&seen, DELAY_NS, 100_000),
        judge::in_order(&seen),
    ];
    findings.push(judge::none_missing(&seen));
    Ok(findings)
}

fn rate(linerate: &Path) -> anyhow::Result<Vec<Finding>> {
    const BITS_PER_SECOND: f64 = 200e6;
    let shape = ["--delay", "1ms", "--rate", "200Mbit/s", "--queue", "100"];
    let offered = Stream {
        packets_per_second: 20_645,
        frame_bytes: FULL_FRAME_BYTES,
        seconds: SECONDS,
    };
    let seen = Ends::up(linerate, &shape)?.carry(&offered)?;
    Ok(vec![
        judge::rate(&seen, BITS_PER_SECOND, 0.01),
        judge::in_order(&seen),
    ])
}

fn loss(linerate: &Path) -> anyhow::Result<Vec<Finding>> {
    let seen = Ends::up(linerate, &["--delay", "1ms", "--loss", "1%"])?.carry(&small(20_000))?;
    Ok(vec![judge::loss(&seen, 0.01), judge::in_order(&seen)])
}

fn small(packets_per_second: u64) -> Stream {
    Stream {
        packets_per_second,
        frame_bytes: SMALL_FRAME_BYTES,
        seconds: SECONDS,
    }
}
