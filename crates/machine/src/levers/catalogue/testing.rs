//! What our own network tester is told about its ends.

use model::Binds;

use crate::levers::card::{Card, Group, Scope, Worst};
use crate::levers::sights;
use crate::levers::testing::OfOurTester;

pub(super) static ROWS: &[OfOurTester] = &[OfOurTester {
    card: Card {
        name: "udp-batches",
        title: "many datagrams in one system call",
        group: Group::Tcp,
        scope: Scope::Socket,
        binds: Binds::Fork,
        worst: Worst::Failures("a row of datagrams overflows a short queue and is lost"),
        about: "UDP_SEGMENT (Linux 4.18) has the kernel, or the card, cut one large send into \
            datagrams; UDP_GRO (Linux 5.0) hands over in one piece what came in a row; sendmmsg(2) and \
            recvmmsg(2) take several at a time.",
        helps: "QUIC, DNS, media: as segments, a datagram costs a fraction of the way through the kernel; \
            several at a time save system calls alone",
        hurts: "a row leaves in one burst, which short queues drop",
        published: Some(
            "876 MB/s of single datagrams and 2,139 MB/s of segments from one core, which has the \
            network's receive path too, in \
            https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/commit/?id=bec1f6f697362c5bc635dacd7ac8499d0a10a4e7",
        ),
    },
    look: sights::udp_batches,
    by: "linerate datagrams --send HOW --receive HOW",
    values: "to send single, batch:N, segments:N; to receive single, batch:N, merged",
    sets: &["UDP_SEGMENT", "UDP_GRO", "sendmmsg(2)", "recvmmsg(2)"],
    by_hand: "linerate datagrams --send segments:32 --receive merged; in other programs whoever writes \
        them asks for it: setsockopt(SOL_UDP, UDP_SEGMENT, 1472) or a control message at each sendmsg(2), \
        setsockopt(SOL_UDP, UDP_GRO, 1); nginx has `quic_gso on`, iperf3 3.21 `--gsro`; `strace -f -e \
        trace=sendmsg,sendmmsg` shows the bytes of each call; what is passed on is udp-receive-offload",
}];
