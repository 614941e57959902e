//! The signs that are known, by family.
//!
//! What stands as `before` was measured by hand, before there were these levers, on a virtual machine
//! of two CPUs with Linux 6.18, over loopback or a veth pair between two namespaces: server CPU time
//! per request with its 95 % interval, or per byte where the answers are large.

use super::Change::{Adds, TakesAway};
use super::Expected::{Better, Nothing, Worse};
use super::{Change, Expected, Family, Sign};

/// What a request of one small packet each way pays for, some per cent each.
pub(super) const COSTS: Family = Family {
    name: "signs-costs",
    claim: "small costs are called worse, and what does nothing is not",
    rig: "loopback",
    rounds: 64,
    baseline: &[],
    signs: &[
        sign(Adds("conntrack"), Worse, "+10.6 % (+9.9 … +11.3)"),
        sign(Adds("token-bucket"), Worse, "+8.0 %"),
        sign(Adds("packet-tap"), Worse, "+5.4 % (+3.4 … +7.4)"),
        sign(Adds("seccomp-arguments"), Worse, "+4.3 % (+3.8 … +4.8)"),
        sign(Adds("nothing"), Nothing, "nothing is set"),
    ],
    ..REQUESTS
};

/// The same, where fewer rounds do.
pub(super) const LARGE_COSTS: Family = Family {
    name: "signs-large-costs",
    claim: "large costs are called worse, and what does nothing is not",
    rig: "loopback",
    rounds: 16,
    baseline: &[],
    signs: &[
        sign(Adds("nft-rules=100"), Worse, "+28.8 % (+27.8 … +29.8)"),
        sign(Adds("packet-tap=20"), Worse, "+39 % (+36 … +43)"),
        sign(
            Adds("receive-packet-steering=0-1"),
            Worse,
            "+13 %, all to the client's CPU",
        ),
        sign(Adds("nothing"), Nothing, "nothing is set"),
    ],
    ..REQUESTS
};

/// What changes nothing on a veth pair, beside one cost that shows that the run could see it. Without
/// receive offload the driver polls nothing, so threads for it and busy polling stand upon that.
pub(super) const NULLS: Family = Family {
    name: "signs-nulls",
    claim: "what changes nothing between two namespaces is not called better or worse",
    rig: "netns",
    rounds: 24,
    score_ms: OF_TWO_HOSTS_MS,
    baseline: &["receive-offload=on"],
    signs: &[
        sign(TakesAway("receive-offload=on"), Nothing, "not significant"),
        sign(Adds("threaded-napi=1"), Nothing, "not significant"),
        sign(Adds("busy-poll=50"), Nothing, "not significant"),
        sign(Adds("congestion-control=reno"), Nothing, "not significant"),
        sign(Adds("nothing"), Nothing, "nothing is set"),
        sign(Adds("nft-rules=100"), Worse, "+28.8 % (+27.8 … +29.8)"),
    ],
    ..REQUESTS
};

/// What only a server shows that waits for each request.
pub(super) const IDLE: Family = Family {
    name: "signs-idle",
    claim: "polling before halting is called better at one connection",
    rig: "loopback",
    rounds: 16,
    connections: 1,
    baseline: &[],
    signs: &[
        Sign {
            may_be_absent: true,
            ..sign(Adds("guest-halt-poll=200000"), Better, "−62 %")
        },
        sign(Adds("nothing"), Nothing, "nothing is set"),
    ],
    ..REQUESTS
};

/// What only answers of many packets show.
pub(super) const BULK: Family = Family {
    name: "signs-bulk",
    claim: "answers of 64 KiB without segmentation offload are called worse",
    rig: "netns",
    rounds: 16,
    score_ms: OF_TWO_HOSTS_MS,
    path: "/plaintext",
    connections: 1,
    baseline: &["message-bytes=65536"],
    signs: &[
        sign(Adds("segmentation-offload=off"), Worse, "+174 %"),
        sign(Adds("nothing"), Nothing, "nothing is set"),
    ],
};

/// Of two hosts the counters must be read near both ends of a block.
const OF_TWO_HOSTS_MS: u32 = 400;

/// Small answers over as many connections as keep both CPUs at work.
const REQUESTS: Family = Family {
    name: "",
    claim: "",
    rig: "",
    rounds: 0,
    // Short blocks and many of them: other work on a machine comes and goes within a second.
    score_ms: 200,
    path: "/json",
    connections: 16,
    baseline: &[],
    signs: &[],
};

const fn sign(change: Change, expected: Expected, before: &'static str) -> Sign {
    Sign {
        change,
        expected,
        before,
        may_be_absent: false,
    }
}
