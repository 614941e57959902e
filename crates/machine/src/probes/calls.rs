//! How long the kernel takes for a call that does nothing, and how late it wakes a sleeping thread.

use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use sys::clock;
use sys::epoll::{Epoll, Events};

use super::ProbeError;

/// Calls per value, which take milliseconds in all.
const CALLS: u32 = 20_000;
/// Datagrams per burst, which fit the smallest buffer of a socket, and bursts per value.
const AT_ONCE: u32 = 16;
const BURSTS: u32 = 200;
const DATAGRAM_BYTES: usize = 64;
/// Short sleeps per value, of which the median counts.
const SLEEPS: usize = 21;
const SLEEP_NS: u64 = 200_000;
/// Connections per value, of which the median counts, and the longest time that each may take.
const CONNECTIONS: usize = 5;
const LONGEST_CONNECT: Duration = Duration::from_secs(1);

/// Duration of a system call that does nothing but return a number (`geteuid`), ns.
pub(super) fn call_ns() -> f64 {
    let begun_ns = clock::monotonic_ns();
    for _ in 0..CALLS {
        std::hint::black_box(sys::user::ours());
    }
    (clock::monotonic_ns() - begun_ns) as f64 / f64::from(CALLS)
}

/// Time per datagram of 64 bytes from one socket to the other, ns. This thread makes both calls,
/// one to send and one to receive.
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

/// How long the kernel of another machine takes to open or refuse a connection, ns: one round trip.
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

/// How much later than asked for a sleep of 200 µs ends, ns. It includes the timer slack of this
/// thread.
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
