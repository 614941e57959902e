//! TCP settings of a host of a rig, for any program on it. They end with its namespace.

use std::fs;
use std::io;
use std::net::Ipv4Addr;

use super::cabling;

/// Initial size of receive and send buffers, bytes.
const BUFFER_BYTES: u32 = 16 << 20;
/// What a window can use of such a buffer, bytes: the kernel keeps half of a receive buffer for its
/// own accounting until it has seen packets (`TCP_DEFAULT_SCALING_RATIO`, and `tcp_adv_win_scale`
/// before). Buffers do not bound the window for pages up to this size.
pub const ROOM_BYTES: u32 = BUFFER_BYTES / 2;
/// `RTAX_INITCWND` and `RTAX_INITRWND`, in segments: what a connection sends before it hears
/// anything, and what the other end may send before it hears more.
const INITIAL_WINDOW: u16 = 11;
const INITIAL_RECEIVE_WINDOW: u16 = 14;
/// The smallest segment of IPv4 (RFC 9293 §3.7.1), bytes.
const SMALLEST_SEGMENT_BYTES: u32 = 536;

/// Makes connections ignore what the kernel learned from earlier ones to the same host, and start
/// with buffers that have room for [`ROOM_BYTES`].
///
/// # Errors
/// `PermissionDenied` on anything but a host of a rig, and without root's rights over it.
pub fn forget_and_give_room() -> io::Result<()> {
    stay_inside()?;
    set("tcp_no_metrics_save", "1")?;
    let least_first_most = format!("4096 {BUFFER_BYTES} {BUFFER_BYTES}");
    set("tcp_rmem", &least_first_most)?;
    set("tcp_wmem", &least_first_most)
}

/// Adds a route to a neighbour on which connections start with `segments` segments under way
/// (`initcwnd` of ip-route(8)).
///
/// # Errors
/// `PermissionDenied` on anything but a host of a rig, and without `CAP_NET_ADMIN`; `ENODEV` if
/// there is no such device.
pub fn set_initial_window(device: &str, neighbour: Ipv4Addr, segments: u32) -> io::Result<()> {
    stay_inside()?;
    cabling::add_route_with_metric(device, neighbour, (INITIAL_WINDOW, segments))
}

/// Adds a route that lets a neighbour send as much as there is room for, as soon as it is connected
/// (`initrwnd`). Some kernels from Linux 4.20 to 6.9 still offer at most 65,535 bytes at first
/// (`tcp_select_initial_window`).
///
/// # Errors
/// The errors of [`set_initial_window`].
pub fn offer_all_room(device: &str, neighbour: Ipv4Addr) -> io::Result<()> {
    stay_inside()?;
    let segments = ROOM_BYTES / SMALLEST_SEGMENT_BYTES;
    cabling::add_route_with_metric(device, neighbour, (INITIAL_RECEIVE_WINDOW, segments))
}

/// Refuses to run outside a rig, where a setting would be the machine's.
fn stay_inside() -> io::Result<()> {
    if super::is_inside() {
        return Ok(());
    }
    let what = "this is no host of a rig, and the machine's own settings are never changed";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

/// Sets a value of the calling thread's network namespace.
fn set(name: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
}
