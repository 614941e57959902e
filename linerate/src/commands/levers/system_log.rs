//! Writes lines to the system log, for processes that nobody watches at a terminal.

use std::fs;
use std::os::unix::net::UnixDatagram;

/// Where syslogd and journald listen.
const DAEMONS: &str = "/dev/log";
/// The kernel's own log buffer, which also stores what processes write to it
/// (`Documentation/ABI/testing/dev-kmsg`).
const KERNELS: &str = "/dev/kmsg";

/// How much a line matters, as a priority of syslog(3) with the facility of daemons.
#[derive(Clone, Copy)]
pub(super) enum Weight {
    Notice,
    Warning,
}

impl Weight {
    fn priority(self) -> u8 {
        const DAEMON: u8 = 3 << 3;
        match self {
            Self::Notice => DAEMON | 5,
            Self::Warning => DAEMON | 4,
        }
    }
}

/// Writes a line to the daemon, or else to the kernel's log. Without either the line is dropped.
pub(super) fn write(weight: Weight, words: &str) {
    let words: String = words
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let line = format!(
        "<{}>linerate[{}]: {words}",
        weight.priority(),
        std::process::id()
    );
    let sent = UnixDatagram::unbound().and_then(|socket| {
        // Putting a change back must not wait for a daemon that hangs.
        socket.set_nonblocking(true)?;
        socket.send_to(line.as_bytes(), DAEMONS)
    });
    if sent.is_err() {
        let _ = fs::OpenOptions::new()
            .write(true)
            .open(KERNELS)
            .and_then(|mut ring| std::io::Write::write_all(&mut ring, line.as_bytes()));
    }
}
