//! The ends of raw frames: packet sockets at devices.

use std::os::fd::OwnedFd;

use sys::packet::{self, Frames, Receiver, TransmitRing};

use super::{PacketError, PacketPath, PacketPlan, RING_FRAMES, SendWay};

/// Size of Ethernet's header.
const AROUND_BYTES: usize = 14;

/// The socket or ring through which packets leave.
#[derive(Debug)]
pub enum Outlet {
    Socket(OwnedFd),
    Ring(TransmitRing),
}

/// The socket or ring through which packets come in.
#[derive(Debug)]
pub enum Inlet {
    Socket(OwnedFd),
    Ring(Receiver),
}

/// Opens the sender's end at a device of the calling thread's network namespace, for raw frames.
///
/// # Errors
/// When the plan makes no sense, or the device lacks or refuses something.
pub fn raw_outlet(plan: &PacketPlan, device: &str) -> Result<Outlet, PacketError> {
    let refused = |source| PacketError::Device {
        device: device.to_owned(),
        source,
    };
    let most = packet::mtu(device).map_err(refused)? + AROUND_BYTES;
    plan.check(most)?;
    let is_cut = matches!(plan.send, SendWay::Segments(_));
    // The kernel cuts sends before the queueing discipline; it throws away those that bypass it.
    let passes_by = plan.path
        == PacketPath::Raw {
            passes_by_qdisc: true,
        }
        && !is_cut;
    let socket = packet::outlet(device, passes_by).map_err(refused)?;
    match plan.send {
        SendWay::Ring(frames) => {
            let ring = TransmitRing::on(socket, usize::from(frames), plan.largest_bytes());
            ring.map(Outlet::Ring).map_err(refused)
        }
        SendWay::Segments(_) => {
            packet::expect_segments(&socket).map_err(refused)?;
            // Cut the packets as they would be on a wire: left to a virtual device, they go on in
            // one piece.
            let ethtool = sys::ethtool::Ethtool::open().map_err(refused)?;
            ethtool
                .finish_packets_in_software(device)
                .map_err(refused)?;
            Ok(Outlet::Socket(socket))
        }
        SendWay::Single | SendWay::Batch(_) => Ok(Outlet::Socket(socket)),
    }
}

/// Opens the receiver's end at a device of the calling thread's network namespace, for raw frames.
///
/// # Errors
/// When the device lacks or refuses something.
pub fn raw_inlet(plan: &PacketPlan, device: &str) -> Result<Inlet, PacketError> {
    let frames = usize::try_from(RING_FRAMES).unwrap_or(usize::MAX);
    let ring = Receiver::open(device, Frames::Incoming, frames, plan.largest_bytes() + 1);
    ring.map(Inlet::Ring).map_err(|source| PacketError::Device {
        device: device.to_owned(),
        source,
    })
}
