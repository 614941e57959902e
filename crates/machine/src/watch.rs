//! Observes the machine at rest, to see whether anybody else is working on it.

use std::fs;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use model::facts::Watched;
use sys::clock;

use crate::cpu_ticks::{self, CpuTicks};
use crate::namespace;
use crate::pressure;
use crate::tcp_table::{self, TcpSocket, TcpState};

/// Steps of the fixed piece of work, one multiplication each: about 1 ms on a machine of today.
const SPIN_STEPS: u64 = 700_000;

/// Observes the machine for `duration_ms`: half of it asleep, to see what others use, and half of
/// it spinning on one CPU, to see how steady its speed is.
#[expect(
    clippy::disallowed_methods,
    reason = "what others do while we do nothing is the measurement"
)]
pub fn watch(duration_ms: u32) -> Watched {
    let half = Duration::from_millis(u64::from(duration_ms / 2));
    let before = Sample::take();
    thread::sleep(half);
    let after = Sample::take();
    Watched {
        foreign_cpu_share: foreign_share(&before, &after),
        psi_cpu_some_avg10: pressure_now().map(|pressure| pressure.some_avg10),
        psi_cpu_some_now: waiting_share(&before, &after).map(|share| share * 100.0),
        foreign_served_connections: served_beyond_loopback(
            &tcp_table::parse(&namespace::tcp_lists_of_the_machine().unwrap_or_default()),
            own_line(&std::env::var("SSH_CONNECTION").unwrap_or_default()),
        ),
        spin_robust_cv: robust_cv(&mut spin_for(half)),
    }
}

/// Readings that are compared between the beginning and the end of the sleeping half.
struct Sample {
    at_ns: u64,
    ticks: Option<CpuTicks>,
    own_ns: u64,
    waited_us: Option<u64>,
}

impl Sample {
    fn take() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        Self {
            at_ns: clock::monotonic_ns(),
            ticks: cpu_ticks::parse(&stat),
            own_ns: clock::process_cpu_ns(std::process::id()).unwrap_or(0),
            waited_us: pressure_now().map(|pressure| pressure.some_total_us),
        }
    }
}

fn pressure_now() -> Option<pressure::Pressure> {
    pressure::parse(&sys::kernel_file::text("/proc/pressure/cpu")?)
}

/// The CPU time of others as a share of the time of all CPUs.
fn foreign_share(before: &Sample, after: &Sample) -> Option<f64> {
    let passed = after.ticks?.since(before.ticks?);
    let own_ns = after.own_ns.saturating_sub(before.own_ns);
    let foreign_ns = passed.machine.busy_ns().saturating_sub(own_ns);
    (passed.total_ns() > 0).then(|| foreign_ns as f64 / passed.total_ns() as f64)
}

fn waiting_share(before: &Sample, after: &Sample) -> Option<f64> {
    let waited_ns = after.waited_us?.saturating_sub(before.waited_us?) * 1_000;
    let passed_ns = after.at_ns.saturating_sub(before.at_ns);
    (passed_ns > 0).then(|| (waited_ns as f64 / passed_ns as f64).min(1.0))
}

/// Parses `SSH_CONNECTION` as sshd sets it (ssh(1)): the user's address and port, then ours. This
/// connection, over which the user is logged in here, is no work of others. Returns ours first.
fn own_line(text: &str) -> Option<(SocketAddr, SocketAddr)> {
    let mut words = text.split(' ');
    let mut next = || -> Option<SocketAddr> {
        let (address, port) = (words.next()?, words.next()?);
        Some(SocketAddr::new(address.parse().ok()?, port.parse().ok()?))
    };
    let remote = next()?;
    Some((next()?, remote))
}

/// Counts connections with peers beyond loopback, on listeners that accept from there. The user's
/// own connection, as local and remote address, is left out.
fn served_beyond_loopback(sockets: &[TcpSocket], own: Option<(SocketAddr, SocketAddr)>) -> u32 {
    let is_open_listener = |local: SocketAddr| {
        sockets.iter().any(|socket| {
            socket.state == TcpState::Listening
                && socket.local.port() == local.port()
                && !tcp_table::is_loopback(socket.local.ip())
        })
    };
    let served = sockets.iter().filter(|socket| {
        socket.state == TcpState::Established
            && !tcp_table::is_loopback(socket.remote.ip())
            && own != Some((plain(socket.local), plain(socket.remote)))
            && is_open_listener(socket.local)
    });
    u32::try_from(served.count()).unwrap_or(u32::MAX)
}

/// Turns an IPv4-mapped IPv6 address into the IPv4 address.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Repeats a fixed piece of work for `duration`, at least three times; returns how long each took,
/// ns.
fn spin_for(duration: Duration) -> Vec<f64> {
    let begun = clock::monotonic_ns();
    let mut lasted = Vec::new();
    while lasted.len() < 3 || u128::from(clock::monotonic_ns() - begun) < duration.as_nanos() {
        let start = clock::monotonic_ns();
        std::hint::black_box(fixed_work());
        lasted.push((clock::monotonic_ns() - start) as f64);
    }
    lasted
}

/// Runs steps that depend on each other, so that the CPU cannot overlap them.
fn fixed_work() -> u64 {
    (0..SPIN_STEPS).fold(1_u64, |value, step| {
        std::hint::black_box(
            value
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(step),
        )
    })
}

/// 1.4826 × median absolute deviation ÷ median. For normal data this is the standard deviation ÷
/// mean, but a few interruptions hardly change it.
fn robust_cv(values: &mut [f64]) -> f64 {
    let centre = median(values);
    let mut deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    if centre > 0.0 {
        1.4826 * median(&mut deviations) / centre
    } else {
        0.0
    }
}

/// Median of the values, which are sorted in place; 0 if there are none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        length if length % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::MachineCpu;

    fn socket(local: &str, remote: &str, state: TcpState) -> TcpSocket {
        let (local, remote) = (local.parse().unwrap(), remote.parse().unwrap());
        TcpSocket {
            local,
            remote,
            state,
            inode: 1,
        }
    }

    #[test]
    fn only_connections_from_beyond_loopback_to_open_listeners_are_served() {
        use TcpState::{Established, Listening};
        let sockets = [
            socket("0.0.0.0:80", "0.0.0.0:0", Listening),
            socket("127.0.0.1:90", "0.0.0.0:0", Listening),
            socket("192.0.2.1:80", "192.0.2.9:4000", Established),
            socket("127.0.0.1:80", "127.0.0.1:4001", Established),
            socket("192.0.2.1:50000", "192.0.2.9:443", Established),
            socket("192.0.2.1:90", "192.0.2.9:4002", Established),
        ];
        assert_eq!(served_beyond_loopback(&sockets, None), 1);
        let ours = own_line("192.0.2.9 4000 192.0.2.1 80");
        assert!(ours.is_some());
        assert_eq!(served_beyond_loopback(&sockets, ours), 0);
        let another = own_line("192.0.2.9 4001 192.0.2.1 80");
        assert_eq!(served_beyond_loopback(&sockets, another), 1);
        assert_eq!(own_line("192.0.2.9 4000"), None);
    }

    #[test]
    fn the_share_of_others_leaves_out_our_own_time() {
        let sample = |user_ns, idle_ns, own_ns| Sample {
            at_ns: 0,
            ticks: Some(CpuTicks {
                machine: MachineCpu {
                    user_ns,
                    ..MachineCpu::default()
                },
                idle_ns,
            }),
            own_ns,
            waited_us: None,
        };
        let share = |own_ns| foreign_share(&sample(0, 0, 0), &sample(50, 50, own_ns)).unwrap();
        assert!((share(20) - 0.3).abs() < 1e-9);
        assert!(share(80).abs() < 1e-9);
        assert_eq!(foreign_share(&sample(5, 5, 0), &sample(5, 5, 0)), None);
    }

    #[test]
    fn the_robust_spread_ignores_one_interruption() {
        let steady = robust_cv(&mut [100.0, 101.0, 99.0, 100.0, 5000.0]);
        assert!((steady - 0.014_826).abs() < 1e-6, "{steady}");
        assert_eq!(robust_cv(&mut []), 0.0);
    }

    #[test]
    fn a_short_look_gives_every_reading_that_this_kernel_has() {
        let watched = watch(40);
        assert!(
            watched
                .foreign_cpu_share
                .is_none_or(|share| (0.0..=1.0).contains(&share))
        );
        assert!(watched.spin_robust_cv >= 0.0);
    }
}
