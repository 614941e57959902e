//! TCP settings of a host of a rig, for whoever is on it. They end with its namespace.

use std::fs;
use std::io;
use std::net::Ipv4Addr;

use super::cabling;

/// Receive and send buffers from the start, bytes.
const BUFFER_BYTES: u32 = 16 << 20;
/// What windows have room for, bytes: of a receive buffer the kernel keeps half for its own
/// accounts until it has seen packets (`TCP_DEFAULT_SCALING_RATIO`, and `tcp_adv_win_scale` before).
/// Of pages up to this no window is bounded by buffers.
pub const ROOM_BYTES: u32 = BUFFER_BYTES / 2;
/// `RTAX_INITCWND` and `RTAX_INITRWND`: in segments, what is sent before anything is heard, and what the other
/// end may send before it hears more.
const INITIAL_WINDOW: u16 = 11;
const INITIAL_RECEIVE_WINDOW: u16 = 14;
/// The smallest segment of IPv4 (RFC 9293 §3.7.1), bytes.
const SMALLEST_SEGMENT_BYTES: u32 = 536;

/// Lets connections know nothing of earlier ones to the same host, and start with buffers that
/// have room for [`ROOM_BYTES`].
///
/// # Errors
/// `PermissionDenied` elsewhere than on a host of a rig, and for whoever is not root over it.
pub fn forget_and_give_room() -> io::Result<()> {
    stay_inside()?;
    set("tcp_no_metrics_save", "1")?;
    let least_first_most = format!("4096 {BUFFER_BYTES} {BUFFER_BYTES}");
    set("tcp_rmem", &least_first_most)?;
    set("tcp_wmem", &least_first_most)
}

/// Starts connections to a neighbour with so many segments under way (`initcwnd` of ip-route(8)),
/// by a route of its own.
///
/// # Errors
/// `PermissionDenied` elsewhere than on a host of a rig, and without `CAP_NET_ADMIN`; `ENODEV` where
/// there is no such device.
pub fn set_initial_window(device: &str, neighbour: Ipv4Addr, segments: u32) -> io::Result<()> {
    stay_inside()?;
    cabling::add_route_with_metric(device, neighbour, (INITIAL_WINDOW, segments))
}

/// Lets a neighbour send all that there is room for as soon as it is connected (`initrwnd`), by a
/// route of its own. Some kernels from Linux 4.20 to 6.9 offer no more than 65,535 bytes at first
/// all the same (`tcp_select_initial_window`).
///
/// # Errors
/// Those of [`set_initial_window`].
pub fn offer_all_room(device: &str, neighbour: Ipv4Addr) -> io::Result<()> {
    stay_inside()?;
    let segments = ROOM_BYTES / SMALLEST_SEGMENT_BYTES;
    cabling::add_route_with_metric(device, neighbour, (INITIAL_RECEIVE_WINDOW, segments))
}

/// Whatever is set elsewhere would be the machine's.
fn stay_inside() -> io::Result<()> {
    if super::is_inside() {
        return Ok(());
    }
    let what = "this is no host of a rig, and nothing of the machine's is changed";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

/// Of the network namespace of the calling thread.
fn set(name: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
}
