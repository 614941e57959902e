//! Packets of UDP from one end to the other on one machine, by one system call for each or for many:
//! what they cost either end, and whether all came.
//!
//! The ends are two threads, each on a CPU of its own. The sender sends a burst, tells the receiver of
//! it, and never has more under way than the receiver's buffer holds: a flood would lose what the
//! slower end cannot take, and the cost of a packet would be that of many which nobody got. The
//! receiver is told of whole bursts and so finds its packets there, as one does that has much to do;
//! what it costs to be woken for each is not in the figures, and neither is the waiting for the other
//! end: the CPU time is read around each burst. Bursts are small enough to stay in a CPU's caches.
//!
//! Over loopback a packet is brought to the receiver's socket within the call that sends it, on the
//! sender's time. Nothing waits in a row there for the kernel to merge, so `merged` receives hold
//! several packets only where they were sent as segments of one send.

mod error;
mod receiver;
mod sender;
mod ways;
mod window;

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd as _;
use std::time::Duration;

use sys::clock;
use sys::datagram;

pub use error::PacketError;
pub use receiver::Received;
pub use sender::Sent;
pub use ways::{ReceiveWay, SendWay};
use window::Window;

/// The sequence number in each.
pub const SMALLEST_BYTES: usize = size_of::<u64>();
/// See [`datagram::MOST_BYTES`].
pub const LARGEST_BYTES: usize = datagram::MOST_BYTES;
/// A packet that has not come after so long has been lost.
const PATIENCE: Duration = Duration::from_secs(1);
/// Under way at once, unless a call is for more: two bursts that fit the second cache of a CPU.
const USUAL_OUTSTANDING: u64 = 256;

/// What is sent, how, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct PacketPlan {
    /// Payload, from [`SMALLEST_BYTES`] to [`LARGEST_BYTES`].
    pub packet_bytes: usize,
    pub send: SendWay,
    pub receive: ReceiveWay,
    pub until: Until,
    pub sender_cpu: usize,
    pub receiver_cpu: usize,
}

impl PacketPlan {
    /// Whether a packet, and a send, can be so large.
    fn check(&self) -> Result<(), PacketError> {
        let bytes = self.packet_bytes;
        if !(SMALLEST_BYTES..=LARGEST_BYTES).contains(&bytes) {
            return Err(PacketError::Size { bytes });
        }
        match self.send {
            SendWay::Segments(segments) if usize::from(segments) * bytes > LARGEST_BYTES => {
                Err(PacketError::LargeSend { segments, bytes })
            }
            _ => Ok(()),
        }
    }
}

/// When it is over.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// So many were sent.
    Count(u64),
    /// So much time has passed.
    Time(Duration),
}

/// How it went.
#[derive(Clone, Copy, Debug)]
pub struct Exchanged {
    pub sent: Sent,
    pub received: Received,
    pub window_ns: u64,
    pub held: SocketSettings,
    /// Packets that may be under way at once.
    pub outstanding_most: u64,
    /// Packets that are sent before the receiver is told of them.
    pub sent_at_once: u64,
}

/// What the sockets hold, by the kernel's word.
#[derive(Clone, Copy, Debug)]
pub struct SocketSettings {
    /// What each send is cut into, bytes; `None` where that was not asked for.
    pub segment_bytes: Option<u32>,
    /// Whether the kernel may merge what came in a row.
    pub may_merge: bool,
    /// The receiver's buffer, with the kernel's account of each packet.
    pub room_bytes: u32,
}

impl Exchanged {
    /// Sent, and not received within a second.
    pub fn lost(&self) -> u64 {
        self.sent.packets.saturating_sub(self.received.packets)
    }
}

/// Sends packets from one thread to another over loopback.
///
/// # Errors
/// What the kernel has not or refused, that nothing came, or that something came which was not sent.
pub fn exchange(plan: &PacketPlan) -> Result<Exchanged, PacketError> {
    plan.check()?;
    let [outgoing, incoming] = connected_pair().map_err(PacketError::Sockets)?;
    let held = prepare(&outgoing, &incoming, plan)?;
    let window = Window::for_room(held.room_bytes, plan)?;
    let begun_ns = clock::monotonic_ns();
    let (sent, received) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receiver::receive(&incoming, plan, &window));
        let sending = scope.spawn(|| sender::send(&outgoing, plan, &window));
        (sending.join(), receiving.join())
    });
    let window_ns = clock::monotonic_ns() - begun_ns;
    let ended = |_| PacketError::Ended;
    // Of two errors the sender's: what it did not send the receiver may only have missed.
    let sent = sent.map_err(ended)??;
    Ok(Exchanged {
        sent,
        received: received.map_err(ended)??,
        window_ns,
        held,
        outstanding_most: window.most(),
        sent_at_once: window.burst(),
    })
}

/// Two sockets of loopback that take nothing but from each other.
fn connected_pair() -> io::Result<[UdpSocket; 2]> {
    let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let pair = [bind()?, bind()?];
    pair[0].connect(pair[1].local_addr()?)?;
    pair[1].connect(pair[0].local_addr()?)?;
    pair[1].set_read_timeout(Some(PATIENCE))?;
    Ok(pair)
}

/// Gives both sockets their options, and reads them back.
fn prepare(
    outgoing: &UdpSocket,
    incoming: &UdpSocket,
    plan: &PacketPlan,
) -> Result<SocketSettings, PacketError> {
    let segment_bytes = cut_sends(outgoing, plan).map_err(PacketError::NoSegments)?;
    let may_merge = merge_receives(incoming, plan).map_err(PacketError::NoMerging)?;
    let incoming = incoming.as_fd();
    let room = datagram::ask_for_room(incoming, window::wanted_room_bytes(plan));
    let room_bytes = room.and_then(|()| datagram::room_bytes(incoming));
    Ok(SocketSettings {
        segment_bytes,
        may_merge,
        room_bytes: room_bytes.map_err(PacketError::Sockets)?,
    })
}

fn cut_sends(outgoing: &UdpSocket, plan: &PacketPlan) -> io::Result<Option<u32>> {
    let SendWay::Segments(_) = plan.send else {
        return Ok(None);
    };
    let bytes = u16::try_from(plan.packet_bytes).map_err(io::Error::other)?;
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
    use super::*;

    /// More than any kernel counts.
    const NO_CPU: usize = 1 << 20;

    #[test]
    fn of_two_ends_that_fail_the_sender_is_told() {
        let plan = PacketPlan {
            packet_bytes: 1000,
            send: SendWay::Single,
            receive: ReceiveWay::Single,
            until: Until::Count(1),
            sender_cpu: NO_CPU,
            receiver_cpu: NO_CPU + 1,
        };
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
            let plan = PacketPlan {
                packet_bytes: 1000,
                send,
                receive,
                until: Until::Count(6400),
                sender_cpu: cpu,
                receiver_cpu: cpu,
            };
            let went = exchange(&plan).unwrap();
            assert_eq!(
                (went.sent.packets, went.lost()),
                (6400, 0),
                "{send} {receive}"
            );
            assert_eq!(went.received.out_of_order, 0);
            assert_eq!(went.sent.calls, 6400 / u64::from(send.packets()));
            let by_one_call = match (send, receive) {
                (SendWay::Segments(count), ReceiveWay::Merged) => count,
                _ => receive.packets(),
            };
            let calls = 6400 / u64::from(by_one_call);
            assert_eq!(went.received.calls, calls, "{send} {receive}");
        }
    }
}
