//! Packets from one end to the other, with one system call for each or for many: what they cost
//! either end, whether all came, and when.
//!
//! They are UDP datagrams over loopback, or raw frames between packet sockets at the two devices of
//! a rig. The ends are two threads, each on a CPU of its own. For UDP at a pace, they can also be
//! processes on machines of their own ([`FarInlet`], [`send_far`]).
//!
//! Without a pace, the sender sends a burst, tells the receiver of it, and never has more under way
//! than the receiver's buffer holds. A flood would lose what the slower end cannot take, and the
//! cost of a packet would include many packets that nobody received. The receiver is told of whole
//! bursts and so finds its packets waiting, like a receiver that is busy. The figures include
//! neither the cost of waking up for each packet nor the waiting for the other end, because CPU
//! time is read around each burst. Bursts are small enough to stay in a CPU's caches.
//!
//! With a pace, packets leave by a clock, whatever becomes of them. What does not come in time is
//! lost, the receiver pays for waking up, and each packet holds the time at which it was sent.
//!
//! Over loopback, and between virtual devices, the call that sends a packet also brings it to the
//! receiver's socket, on the sender's CPU time. No packets queue up there for the kernel to merge,
//! so `merged` receives hold several only if they were sent as segments of one send.

mod apart;
mod error;
mod frame;
mod numbers;
mod pace;
mod plan;
mod raw;
mod receiver;
mod sender;
mod sizes;
mod ways;
mod window;

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sys::{clock, datagram};

pub use apart::{FarInlet, GreetingWords, send_far};
pub use error::PacketError;
use frame::SMALLEST_FRAME_BYTES;
pub use numbers::Disorder;
pub use pace::PacketPace;
pub use plan::{PacketPath, PacketPlan, Until};
pub use raw::{Inlet, Outlet, raw_inlet, raw_outlet};
pub use receiver::Received;
pub use sender::Sent;
pub use sizes::PacketSizes;
pub use ways::{ReceiveWay, SendWay};
use window::Window;

/// Size of the sequence number that each packet holds, bytes.
pub const SMALLEST_BYTES: usize = size_of::<u64>();
/// Size of the largest packet, bytes; see [`datagram::MOST_BYTES`].
pub const LARGEST_BYTES: usize = datagram::MOST_BYTES;
/// A packet that has not come after this time has been lost.
const PATIENCE: Duration = Duration::from_secs(1);
/// Patience for packets that leave by a clock, after the last has left.
const PACED_PATIENCE: Duration = Duration::from_millis(100);
/// Packets under way at once, unless a call needs more: two bursts that fit a CPU's second-level
/// cache.
const USUAL_OUTSTANDING: u64 = 256;

/// Raw frames that can wait for their receiver.
const RING_FRAMES: u64 = 4096;
/// The result of an exchange.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exchanged {
    pub sent: Sent,
    pub received: Received,
    pub window_ns: u64,
    pub held: SocketSettings,
    /// Packets that may be under way at once, if there is no pace.
    pub outstanding_most: u64,
    /// Packets that are sent before the receiver is told of them.
    pub sent_at_once: u64,
}

/// Settings of UDP sockets as the kernel reports them; nothing for packet sockets.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct SocketSettings {
    /// Size of the packets that each send is cut into, bytes; `None` where that was not asked for.
    pub segment_bytes: Option<u32>,
    /// Whether the kernel may merge packets that came in a row.
    pub may_merge: bool,
    /// Size of the receiver's buffer, including the kernel's overhead for each packet.
    pub room_bytes: u32,
}

impl Exchanged {
    /// Returns how many packets were sent and not received in time.
    pub fn lost(&self) -> u64 {
        let once = self.received.packets - self.received.disorder.twice;
        self.sent.packets.saturating_sub(once)
    }
}

/// Sends packets from one thread to another over loopback.
///
/// # Errors
/// When the kernel lacks or refuses something, when nothing came, or when something came that was
/// not sent.
pub fn exchange(plan: &PacketPlan) -> Result<Exchanged, PacketError> {
    plan.check(LARGEST_BYTES)?;
    let [outgoing, incoming] = connected_pair(plan).map_err(PacketError::Sockets)?;
    let held = SocketSettings {
        segment_bytes: cut_sends(&outgoing, plan).map_err(PacketError::NoSegments)?,
        ..prepare_to_receive(&incoming, plan)?
    };
    let window = Window::for_room(window::room_in(held.room_bytes, plan), plan)?;
    let ends = (
        Outlet::Socket(outgoing.into()),
        Inlet::Socket(incoming.into()),
    );
    carry(plan, ends, &window, held)
}

/// Sends raw frames from one end to the other, in whatever network namespaces they are.
///
/// # Errors
/// Those of [`exchange`].
pub fn exchange_raw(plan: &PacketPlan, ends: (Outlet, Inlet)) -> Result<Exchanged, PacketError> {
    let window = Window::for_room(RING_FRAMES, plan)?;
    carry(plan, ends, &window, SocketSettings::default())
}

fn carry(
    plan: &PacketPlan,
    (outlet, inlet): (Outlet, Inlet),
    window: &Window,
    held: SocketSettings,
) -> Result<Exchanged, PacketError> {
    let begun_ns = clock::monotonic_ns();
    let (sent, received) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receiver::receive(inlet, plan, window));
        let sending = scope.spawn(|| sender::send(outlet, plan, window));
        (sending.join(), receiving.join())
    });
    let ended_ns = clock::monotonic_ns();
    let ended = |_| PacketError::Ended;
    // Of two errors the sender's is returned: the receiver may only have missed what was not sent.
    let sent = sent.map_err(ended)??;
    if sent.packets == 0 {
        return Err(PacketError::NoneDue);
    }
    let received = received.map_err(ended)??;
    // With a pace, the window ends with the last packet and its gap, not when nothing has come for
    // a while.
    let window_ns = match plan.pace {
        Some(_) => sent
            .ended_ns
            .max(received.last_ns)
            .saturating_sub(sent.begun_ns)
            .max(plan.paced_ns(sent.packets)),
        None => ended_ns - begun_ns,
    };
    Ok(Exchanged {
        sent,
        received,
        window_ns,
        held,
        outstanding_most: window.most(),
        sent_at_once: window.burst(),
    })
}

/// Opens two sockets on loopback that receive only from each other.
fn connected_pair(plan: &PacketPlan) -> io::Result<[UdpSocket; 2]> {
    let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let pair = [bind()?, bind()?];
    pair[0].connect(pair[1].local_addr()?)?;
    pair[1].connect(pair[0].local_addr()?)?;
    pair[1].set_read_timeout(Some(patience(plan)))?;
    Ok(pair)
}

/// Returns how long nothing may come before a receiver takes that for the end.
fn patience(plan: &PacketPlan) -> Duration {
    match plan.pace {
        Some(_) => PACED_PATIENCE,
        None => PATIENCE,
    }
}

/// Sets the options of a receiver's socket and reads them back.
fn prepare_to_receive(
    incoming: &UdpSocket,
    plan: &PacketPlan,
) -> Result<SocketSettings, PacketError> {
    let may_merge = merge_receives(incoming, plan).map_err(PacketError::NoMerging)?;
    let incoming = incoming.as_fd();
    let room = datagram::ask_for_room(incoming, window::wanted_room_bytes(plan));
    let room_bytes = room.and_then(|()| datagram::room_bytes(incoming));
    Ok(SocketSettings {
        segment_bytes: None,
        may_merge,
        room_bytes: room_bytes.map_err(PacketError::Sockets)?,
    })
}

fn cut_sends(outgoing: &UdpSocket, plan: &PacketPlan) -> io::Result<Option<u32>> {
    let SendWay::Segments(_) = plan.send else {
        return Ok(None);
    };
    let bytes = u16::try_from(plan.largest_bytes()).map_err(io::Error::other)?;
    datagram::set_segment_bytes(outgoing.as_fd(), bytes)?;
    datagram::segment_bytes(outgoing.as_fd()).map(Some)
}

fn merge_receives(incoming: &UdpSocket, plan: &PacketPlan) -> io::Result<bool> {
    if !matches!(plan.receive, ReceiveWay::Merged) {
        return Ok(false);
    }
    datagram::allow_merging(incoming.as_fd())?;
    datagram::may_merge(incoming.as_fd())
}

#[cfg(test)]
mod tests {
    use super::plan::tests::udp_plan;
    use super::*;

    /// A number higher than that of any CPU.
    const NO_CPU: usize = 1 << 20;

    #[test]
    fn of_two_ends_that_fail_the_sender_is_told() {
        let ways = (SendWay::Single, ReceiveWay::Single);
        let plan = udp_plan(1000, ways, Until::Count(1), [NO_CPU, NO_CPU + 1]);
        let told = exchange(&plan).unwrap_err();
        assert!(
            matches!(told, PacketError::Pin { cpu: NO_CPU, .. }),
            "{told}"
        );
    }

    #[test]
    fn all_that_is_sent_comes_by_any_way_and_with_the_calls_that_it_takes() {
        let cpu = sys::cpu::allowed().unwrap()[0];
        let sends = [SendWay::Single, SendWay::Batch(16), SendWay::Segments(16)];
        let receives = [
            ReceiveWay::Single,
            ReceiveWay::Batch(32),
            ReceiveWay::Merged,
        ];
        for (send, receive) in sends
            .into_iter()
            .flat_map(|send| receives.map(|way| (send, way)))
        {
            let plan = udp_plan(1000, (send, receive), Until::Count(6400), [cpu, cpu]);
            let went = exchange(&plan).unwrap();
            assert_eq!(
                (went.sent.packets, went.lost()),
                (6400, 0),
                "{send} {receive}"
            );
            assert_eq!(went.received.disorder.late, 0);
            assert_eq!(went.sent.calls, 6400 / u64::from(send.packets()));
            let by_one_call = match (send, receive) {
                (SendWay::Segments(count), ReceiveWay::Merged) => count,
                _ => receive.packets(),
            };
            let calls = 6400 / u64::from(by_one_call);
            assert_eq!(went.received.calls, calls, "{send} {receive}");
        }
    }

    #[test]
    fn packets_that_leave_at_once_have_the_time_that_their_pace_gives_them() {
        let cpu = sys::cpu::allowed().unwrap()[0];
        let ways = (SendWay::Batch(8), ReceiveWay::Batch(8));
        let plan = PacketPlan {
            pace: Some(PacketPace {
                rate: 1000.0,
                arrivals: model::workload::Arrivals::Uniform,
                burst: 100,
            }),
            ..udp_plan(64, ways, Until::Count(100), [cpu, cpu])
        };
        assert!(exchange(&plan).unwrap().window_ns >= 100_000_000);
    }

    #[test]
    fn a_mix_that_leaves_by_a_clock_comes_as_it_was_sent_and_each_has_its_time() {
        let cpu = sys::cpu::allowed().unwrap()[0];
        let ways = (SendWay::Batch(8), ReceiveWay::Batch(8));
        let plan = PacketPlan {
            sizes: "64:7,576:4,1500:1".parse().unwrap(),
            pace: Some(PacketPace {
                rate: 10_000.0,
                arrivals: model::workload::Arrivals::Poisson,
                burst: 2,
            }),
            ..udp_plan(64, ways, Until::Count(240), [cpu, cpu])
        };
        let went = exchange(&plan).unwrap();
        assert_eq!((went.sent.packets, went.lost()), (240, 0));
        assert_eq!(went.received.bytes, 20 * (7 * 64 + 4 * 576 + 1500));
        assert_eq!(went.received.one_way.total(), 240);
        // About a fiftieth of a second, with random gaps.
        assert!(went.window_ns > 5_000_000, "{}", went.window_ns);
    }
}
