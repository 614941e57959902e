//! What the kernel takes for a call that does nothing, and how late it wakes who sleeps.

use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use sys::clock;
use sys::epoll::{Epoll, Events};

use super::ProbeError;

/// Calls of one value: milliseconds.
const CALLS: u32 = 20_000;
/// Datagrams of a burst, which the smallest buffer of a socket holds, and bursts of one value.
const AT_ONCE: u32 = 16;
const BURSTS: u32 = 200;
const DATAGRAM_BYTES: usize = 64;
/// Short sleeps of one value, of which the middle one counts.
const SLEEPS: usize = 21;
const SLEEP_NS: u64 = 200_000;
/// Connections of one value, of which the middle one counts, and how long each may take.
const CONNECTIONS: usize = 5;
const LONGEST_CONNECT: Duration = Duration::from_secs(1);

/// One system call that does nothing but tell a number (`geteuid`), ns.
pub(super) fn call_ns() -> f64 {
    let begun_ns = clock::monotonic_ns();
    for _ in 0..CALLS {
        std::hint::black_box(sys::user::ours());
    }
    (clock::monotonic_ns() - begun_ns) as f64 / f64::from(CALLS)
}

/// A datagram of 64 bytes from one socket to the other, a call for each at either end, all by this thread, ns.
pub(super) fn datagram_ns([near, far]: [UdpSocket; 2]) -> Result<f64, ProbeError> {
    let mut bytes = [7; DATAGRAM_BYTES];
    let mut carry = || -> io::Result<()> {
        (0..AT_ONCE).try_for_each(|_| near.send(&bytes).map(drop))?;
        (0..AT_ONCE).try_for_each(|_| far.recv(&mut bytes).map(drop))
    };
    let begun_ns = clock::monotonic_ns();
    for _ in 0..BURSTS {
        carry().map_err(ProbeError::Line)?;
    }
    Ok((clock::monotonic_ns() - begun_ns) as f64 / f64::from(BURSTS * AT_ONCE))
}

/// How long a connection takes to be opened, or refused, by the kernel of a machine, ns: a round trip.
pub(super) fn connect_ns(to: Option<SocketAddr>) -> Result<f64, ProbeError> {
    let to = to.ok_or_else(|| ProbeError::Missing("it takes another machine".to_owned()))?;
    let connect = || {
        let begun_ns = clock::monotonic_ns();
        let opened = TcpStream::connect_timeout(&to, LONGEST_CONNECT);
        let passed_ns = clock::monotonic_ns() - begun_ns;
        match opened {
            Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => {
                Err(ProbeError::Line(error))
            }
            _ => Ok(passed_ns),
        }
    };
    middle((0..CONNECTIONS).map(|_| connect()))
}

/// How much later than asked for a sleep of 200 µs ends, ns, with the slack that timers of this thread have.
pub(super) fn overshoot_ns() -> Result<f64, ProbeError> {
    let epoll = Epoll::new().map_err(ProbeError::Line)?;
    let mut events = Events::with_capacity(1);
    let mut sleep = || {
        let begun_ns = clock::monotonic_ns();
        let slept = epoll.wait(&mut events, Some(SLEEP_NS));
        let passed_ns = clock::monotonic_ns() - begun_ns;
        slept.map_err(ProbeError::Line)?;
        Ok(passed_ns.saturating_sub(SLEEP_NS))
    };
    middle((0..SLEEPS).map(|_| sleep()))
}

fn middle(values: impl Iterator<Item = Result<u64, ProbeError>>) -> Result<f64, ProbeError> {
    let mut values = values.collect::<Result<Vec<u64>, ProbeError>>()?;
    values.sort_unstable();
    Ok(values[values.len() / 2] as f64)
}
