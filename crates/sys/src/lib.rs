//! The kernel, safely: one door per kernel interface, and the only crate with `unsafe`.
//!
//! It knows no HTTP and no metrics. Calls return `io::Result` with the kernel's own errno, so the
//! caller can say what was refused.
#![expect(
    unsafe_code,
    reason = "this is the one crate that speaks to the kernel; each block says why it is sound"
)]

pub mod address;
pub mod alloc;
pub mod attribute;
pub mod bpf;
pub mod cgroup;
pub mod clock;
pub mod cpu;
pub mod datagram;
pub mod descent;
mod descriptor;
pub mod epoll;
pub mod ethtool;
pub mod folder;
pub mod group;
mod interface;
pub mod kernel_file;
pub mod kernel_log;
pub mod ktls;
pub mod launch;
pub mod listener;
pub mod mapped_file;
pub mod mark;
pub mod memory_file;
pub mod memory_killer;
pub mod namespace;
pub mod netdev;
pub mod netlink;
pub mod offspring;
pub mod orders;
pub mod own_devices;
pub mod packet;
pub mod pidfd;
pub mod privilege;
pub mod process;
pub mod random;
pub mod root_folder;
pub mod sandbox;
pub mod scheduling;
pub mod send_buffer;
pub mod socket;
pub mod socket_file;
pub mod standard_input;
pub mod stop;
pub mod tally_page;
pub mod tcp_diag;
pub mod timer;
pub mod tun;
pub mod uring;
pub mod usage;
pub mod user;
pub mod wake_latency;
pub mod zero_copy;

use std::io;

/// Turns the C convention (−1 and errno) into a `Result`.
fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(returned)
    }
}

/// The same for calls that return a size.
fn check_size(returned: isize) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}
