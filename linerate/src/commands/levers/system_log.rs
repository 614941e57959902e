//! A line in the system's log, for what nobody waits for at a terminal.

use std::fs;
use std::os::unix::net::UnixDatagram;

/// Where syslogd and journald listen.
const DAEMONS: &str = "/dev/log";
/// The kernel's own ring, which keeps what processes write there too (`Documentation/ABI/testing/dev-kmsg`).
const KERNELS: &str = "/dev/kmsg";

/// How much it matters, as a priority of syslog(3) with the facility of daemons.
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

/// Writes it where there is a log; elsewhere there is nobody to tell.
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
    let told = UnixDatagram::unbound().and_then(|socket| {
        // Where the daemon hangs, what is to be put back does not wait for it.
        socket.set_nonblocking(true)?;
        socket.send_to(line.as_bytes(), DAEMONS)
    });
    if told.is_err() {
        let _ = fs::OpenOptions::new()
            .write(true)
            .open(KERNELS)
            .and_then(|mut ring| std::io::Write::write_all(&mut ring, line.as_bytes()));
    }
}
