//! Safe access to the kernel: one module per kernel interface, in the only crate with `unsafe`.
//!
//! The crate knows nothing of HTTP or metrics. Calls return `io::Result` with the kernel's own
//! errno, so the caller can say what was refused.
#![expect(
    unsafe_code,
    reason = "this is the one crate that speaks to the kernel; each block says why it is sound"
)]

pub mod address;
pub mod alloc;
pub mod attribute;
mod bell;
pub mod bpf;
pub mod bulk;
pub mod cache_lines;
pub mod cgroup;
pub mod classic_bpf;
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
mod mapping;
pub mod mark;
pub mod memory_file;
pub mod memory_killer;
pub mod memory_speed;
pub mod namespace;
pub mod netdev;
pub mod netlink;
pub mod offspring;
pub mod orders;
pub mod own_devices;
pub mod packet;
pub mod perf;
pub mod pidfd;
pub mod process;
pub mod random;
pub mod root_folder;
pub mod sandbox;
pub mod scheduling;
pub mod scratch_file;
pub mod send_buffer;
pub mod socket;
pub mod socket_file;
pub mod standard_input;
pub mod stop;
pub mod system_call;
pub mod tally_page;
pub mod tcp_diag;
pub mod tcp_info;
pub mod tcp_queues;
pub mod timer;
pub mod tracepoint;
pub mod uring;
pub mod usage;
pub mod user;
pub mod wake_latency;

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// Turns the C convention (−1 and errno) into a `Result`.
fn check(returned: impl Into<libc::c_long>) -> io::Result<libc::c_int> {
    let returned: libc::c_long = returned.into();
    if returned < 0 {
        Err(io::Error::last_os_error())
    } else {
        libc::c_int::try_from(returned).map_err(io::Error::other)
    }
}

/// Returns the descriptor that a call has opened, or its error.
///
/// # Safety
/// `returned` must come from such a call, and nobody else may take the descriptor over.
unsafe fn opened(returned: impl Into<libc::c_long>) -> io::Result<OwnedFd> {
    let descriptor = check(returned)?;
    // SAFETY: the caller vouches that it was just opened and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Returns the size that a call returned, or its error.
fn check_size(returned: isize) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}
