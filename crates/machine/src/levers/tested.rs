//! Which levers are set and put back in a test, and where: from here come the lists of those tests, and a
//! line of each page. `cargo xtask tidy` holds them against each other.

use serde::Serialize;

/// A place where tests set a lever, look at it and put it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TestBench {
    /// A network namespace of whatever machine the tests run on (`linerate/tests/levers/each.rs`).
    Here,
    /// A virtual machine with a kernel and a card of its own (`xtask/src/vm/proofs`: `levers.sh`, `ktls.sh`,
    /// `shares.sh`).
    Guest,
    /// There, by what a person would do (`xtask/src/vm/proofs/audit.sh`).
    ByHand,
    /// A folder of files (`carry/tests/planted.rs`).
    Planted,
    /// A program that is started with it, and takes it along when it ends
    /// (`linerate/tests/levers/programs.rs` and `allocator.rs`).
    Program,
    /// Our own server, which takes it along when it ends (`linerate/tests/serve`).
    Server,
    /// Our own ends of UDP, which take it along when they end (`linerate/tests/link/datagrams.rs`).
    Datagrams,
    /// An emulated machine that is started without it and with it (`xtask/src/prove/two_boots.rs`).
    Reboot,
}

/// In a network namespace, with devices that have no hardware.
const HERE: [&str; 41] = [
    "abort-on-overflow",
    "accept-queue",
    "big-tcp",
    "big-tcp-ipv4",
    "congestion-control",
    "gro-flush-timeout",
    "initial-receive-window",
    "initial-window",
    "interrupt-suspension",
    "local-ports",
    "migrate-requests",
    "mtu",
    "napi-defer-hard-irqs",
    "notsent-lowat",
    "qdisc",
    "quick-acknowledgements",
    "receive-buffer-growth",
    "receive-channels",
    "receive-coalescing-frames",
    "receive-flow-count",
    "receive-offload",
    "receive-packet-steering",
    "segmentation-offload",
    "slow-start-after-idle",
    "socket-option-memory",
    "software-segmentation",
    "syn-backlog",
    "syn-cookies",
    "tcp-autocorking",
    "tcp-fastopen",
    "tcp-metrics",
    "tcp-receive-buffer",
    "tcp-send-buffer",
    "tcp-time-wait-reuse",
    "threaded-napi",
    "transmit-channels",
    "transmit-byte-limit",
    "transmit-checksum",
    "transmit-packet-steering",
    "transmit-queue-length",
    "udp-receive-offload",
];

/// In a guest, whose host settings and card are nobody else's.
const GUEST: [&str; 45] = [
    "big-tcp",
    "busy-poll",
    "busy-read",
    "clocksource",
    "cpu-weight",
    "default-qdisc",
    "device-weight",
    "dirty-background-ratio",
    "dirty-ratio",
    "gro-flush-timeout",
    "guest-halt-poll",
    "huge-pages",
    "huge-pages-defrag",
    "initial-receive-window",
    "initial-window",
    "interrupt-affinity",
    "kernel-tls",
    "memory-reserve",
    "mtu",
    "napi-defer-hard-irqs",
    "numa-balancing",
    "qdisc",
    "realtime-share",
    "receive-backlog",
    "receive-buffer-limit",
    "receive-coalescing",
    "receive-flow-table",
    "receive-offload",
    "receive-packet-steering",
    "receive-ring",
    "scheduler-autogroup",
    "segmentation-offload",
    "send-buffer-limit",
    "softirq-budget",
    "softirq-budget-time",
    "software-segmentation",
    "statistics-interval",
    "swappiness",
    "tcp-memory",
    "threaded-napi",
    "timer-migration",
    "transmit-queue-length",
    "transmit-ring",
    "udp-memory",
    "udp-receive-offload",
];

/// In a guest, and never set by us.
const BY_HAND: [&str; 1] = ["syscall-audit"];

/// Over planted files alone, since no machine of the tests has what they set.
pub(super) const PLANTED: [&str; 3] = ["energy-preference", "frequency-governor", "nmi-watchdog"];

/// Of one program.
const PROGRAM: [&str; 10] = [
    "allocator",
    "cpu-affinity",
    "cpu-dma-latency",
    "cpu-weight",
    "nice",
    "open-files",
    "packet-programs",
    "program-huge-pages",
    "scheduler",
    "timer-slack",
];

/// Of our own server.
const SERVER: [&str; 12] = [
    "connection-steering",
    "defer-accept",
    "engine",
    "kernel-tls",
    "listen-backlog",
    "no-delay",
    "pacing",
    "socket-busy-poll",
    "tls-ciphers",
    "tls-record-size",
    "workers",
    "zero-copy",
];

/// Of our own network tester.
const DATAGRAMS: [&str; 1] = ["udp-batches"];

/// Of the boot: never set by us, but by whoever starts the machine.
const REBOOT: [&str; 1] = ["mitigations"];

/// What can be set and is in no test, and why.
const UNTESTED: [(&str, &str); 2] = [
    ("indirect-branch", NO_CHOICE),
    ("speculative-store-bypass", NO_CHOICE),
];
const NO_CHOICE: &str = "the processors that tests run on leave no choice to a program";

/// Where tests set a lever and put it back, or a machine is started with it and without.
#[must_use]
pub fn tested_in(lever: &str) -> Vec<TestBench> {
    let benches = [
        (&HERE[..], TestBench::Here),
        (&GUEST, TestBench::Guest),
        (&BY_HAND, TestBench::ByHand),
        (&PLANTED, TestBench::Planted),
        (&PROGRAM, TestBench::Program),
        (&SERVER, TestBench::Server),
        (&DATAGRAMS, TestBench::Datagrams),
        (&REBOOT, TestBench::Reboot),
    ];
    let tested = benches
        .into_iter()
        .filter(|(names, _)| names.contains(&lever));
    tested.map(|(_, bench)| bench).collect()
}

/// The same for a reader.
#[must_use]
pub fn tested_words(lever: &str) -> String {
    let words = |bench: TestBench| match bench {
        TestBench::Here => "here, in a network namespace",
        TestBench::Guest => "in a virtual machine",
        TestBench::ByHand => "by hand in a virtual machine",
        TestBench::Planted => "on planted files alone, never on a machine that has it",
        TestBench::Program => "with a program, which takes it along when it ends",
        TestBench::Server => "with our own server, which takes it along when it ends",
        TestBench::Datagrams => "with `linerate datagrams`, which takes it along when it ends",
        TestBench::Reboot => "over a reboot of an emulated machine, by `cargo xtask prove boot`",
    };
    let benches = tested_in(lever);
    let is_told = |bench: &TestBench| matches!(bench, TestBench::ByHand | TestBench::Reboot);
    let is_taken = benches.iter().any(is_told);
    let places: Vec<&str> = benches.into_iter().map(words).collect();
    let untested = UNTESTED.iter().find(|(name, _)| *name == lever);
    match (places.as_slice(), untested) {
        ([], None) => "never applied in a test".to_owned(),
        ([], Some((_, why))) => format!("never applied in a test: {why}"),
        (places, _) => {
            let how = if is_taken {
                "seen to take hold"
            } else {
                "applied and restored in a test"
            };
            format!("{how} {}", places.join(", and "))
        }
    }
}

#[cfg(test)]
pub(super) fn all_names() -> impl Iterator<Item = &'static str> {
    let restored = HERE.into_iter().chain(GUEST).chain(PLANTED);
    let restored = restored.chain(BY_HAND);
    let at_start = PROGRAM.into_iter().chain(SERVER).chain(DATAGRAMS);
    restored.chain(at_start).chain(REBOOT)
}
