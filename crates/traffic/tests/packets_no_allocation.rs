//! Neither end of an exchange of packets allocates anything for a packet.
//!
//! One test in a program of its own: the allocations counted are those of the whole process.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

use sys::alloc::{CountingAllocator, allocations};
use traffic::packets::{PacketPath, PacketPlan, PacketSizes, ReceiveWay, SendWay, Until, exchange};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Allocations during an exchange of `count` packets.
fn allocated(send: SendWay, receive: ReceiveWay, count: u64) -> u64 {
    let cpu = sys::cpu::allowed().unwrap()[0];
    let plan = PacketPlan {
        path: PacketPath::Udp,
        sizes: PacketSizes::of(1000),
        send,
        receive,
        pace: None,
        until: Until::Count(count),
        sender_cpu: cpu,
        receiver_cpu: cpu,
    };
    let before = allocations();
    let went = exchange(&plan).unwrap();
    assert_eq!(went.received.packets, count);
    allocations() - before
}

#[test]
fn twenty_thousand_packets_take_no_more_allocations_than_one() {
    let sends = [SendWay::Single, SendWay::Batch(16), SendWay::Segments(16)];
    let receives = [
        ReceiveWay::Single,
        ReceiveWay::Batch(16),
        ReceiveWay::Merged,
    ];
    for (send, receive) in sends
        .into_iter()
        .flat_map(|send| receives.map(|receive| (send, receive)))
    {
        // By the second exchange, what a process allocates only once has been allocated.
        let counts = [1, 1, 20_000];
        let [_, of_one, of_many] = counts.map(|count| allocated(send, receive, count));
        assert_eq!(of_many, of_one, "{send} to {receive}");
    }
}
