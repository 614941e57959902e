//! TCP settings of a host of a rig, for whoever is on it. They end with its namespace.

use std::fs;
use std::io;
use std::net::Ipv4Addr;

use super::cabling;

/// Receive and send buffers from the start, bytes: the windows of no page up to this are bounded
/// by them, so what bounds the sender is its congestion window.
const BUFFER_BYTES: u32 = 4 << 20;

/// Lets connections know nothing of earlier ones to the same host, and start with buffers that
/// are no limit.
///
/// # Errors
/// `EACCES` for whoever is not root over the namespace.
pub fn forget_and_give_room() -> io::Result<()> {
    set("tcp_no_metrics_save", "1")?;
    let least_first_most = format!("4096 {BUFFER_BYTES} {BUFFER_BYTES}");
    set("tcp_rmem", &least_first_most)?;
    set("tcp_wmem", &least_first_most)
}

/// Starts connections to a neighbour with so many segments under way (`initcwnd` of ip-route(8)),
/// by a route of its own.
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN`, `ENODEV` where there is no such device.
pub fn set_initial_window(device: &str, neighbour: Ipv4Addr, segments: u32) -> io::Result<()> {
    cabling::add_route_with_window(device, neighbour, segments)
}

/// Of the network namespace of the calling thread.
fn set(name: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
}
