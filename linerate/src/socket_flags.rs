//! Flags of the sockets of `serve` and `echo`, and how they are set on open listeners.

use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use model::link::spelling;
use sys::listener::{self, BusyPoll};
use traffic::engine::listeners::{self, Steering};

use crate::seconds::parse_seconds;
use crate::tls_flags::Switch;
use crate::values;

pub(crate) const SOCKETS: &str = "Sockets";
/// Default number of packets in one go, the kernel's own (`BUSY_POLL_BUDGET` of net/busy_poll.h).
const BUDGET: &str = "8";
/// Least rate: with less, a full segment would take longer than clients wait.
const LEAST_BITS_PER_SECOND: u64 = 8_000;

#[derive(clap::Args)]
pub(crate) struct SocketFlags {
    /// How workers get connections: cbpf, incoming-cpu or hash [default: cbpf if possible]
    ///
    /// With cbpf and incoming-cpu, the worker on the CPU that received a connection gets it. cbpf
    /// uses a program in the kernel and needs one worker on each of the CPUs 0, 1, …; with
    /// incoming-cpu each listener names a CPU (Linux 6.2), which needs one worker on each CPU of
    /// the list. With hash, the kernel chooses by the addresses.
    #[arg(long, hide_short_help = true, value_name = "HOW", value_parser = values::one_of::<Steering>(Steering::ALL.map(Steering::name)), hide_possible_values = true, help_heading = SOCKETS)]
    steer: Option<Steering>,

    /// Send small answers at once (`TCP_NODELAY`), on or off
    ///
    /// With off, an answer waits until the one before it is acknowledged, or there is a full segment.
    #[arg(long, hide_short_help = true, value_name = "WHEN", default_value = "on", hide_possible_values = true, help_heading = SOCKETS)]
    no_delay: Switch,

    /// Poll the device for this long before waiting (`SO_BUSY_POLL`, `EPIOCSPARAMS`)
    ///
    /// It needs Linux 6.9. A loopback or veth connection comes from no device, so there it does
    /// nothing.
    #[arg(long = "busy-poll", hide_short_help = true, value_name = "TIME", value_parser = parse_time_us, help_heading = SOCKETS)]
    busy_poll_us: Option<u32>,

    /// Prefer that to interrupts, with this many packets in one go [default: 8]
    ///
    /// It sets `SO_PREFER_BUSY_POLL` and `SO_BUSY_POLL_BUDGET`, which needs CAP_NET_ADMIN.
    #[arg(long, hide_short_help = true, value_name = "BUDGET", requires = "busy_poll_us", num_args = 0..=1,
        default_missing_value = BUDGET, value_parser = clap::value_parser!(u16).range(1..), help_heading = SOCKETS)]
    prefer_busy_poll: Option<u16>,

    /// Accept connections once they have sent something, or after this long (`TCP_DEFER_ACCEPT`)
    #[arg(long = "defer-accept", hide_short_help = true, value_name = "TIME", value_parser = parse_seconds, help_heading = SOCKETS)]
    defer_accept_s: Option<u32>,

    /// Connections that may wait to be accepted [default: 4096, or net.core.somaxconn if less]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_535), help_heading = SOCKETS)]
    backlog: Option<u32>,

    /// Send no faster on each connection, spread evenly over time (`SO_MAX_PACING_RATE`)
    ///
    /// The rate is of what TCP carries, such as 100Mbit/s. TCP paces by itself; where `fq` is the
    /// queue discipline of the device, `fq` does.
    #[arg(long = "pacing", hide_short_help = true, value_name = "RATE", value_parser = parse_pacing, help_heading = SOCKETS)]
    pacing_bytes_s: Option<u64>,
}

impl SocketFlags {
    /// Returns the number of connections that may wait, as the kernel is asked for it.
    pub(crate) fn backlog(&self) -> u32 {
        self.backlog.unwrap_or(listeners::BACKLOG)
    }

    pub(crate) fn busy_poll(&self) -> Option<BusyPoll> {
        self.busy_poll_us.map(|time_us| BusyPoll {
            time_us,
            preferred_budget: self.prefer_busy_poll,
        })
    }

    /// Sets all flags on open listeners, before the server is reported as ready; accepted
    /// connections inherit them.
    pub(crate) fn set(&self, listeners: &[TcpListener], cpus: &[usize]) -> anyhow::Result<()> {
        self.steer(listeners, cpus)?;
        for listener in listeners {
            self.set_one(listener)?;
        }
        Ok(())
    }

    fn steer(&self, listeners: &[TcpListener], cpus: &[usize]) -> anyhow::Result<()> {
        let workers = listeners.len();
        match self.steer {
            Some(how) => {
                listeners::steer(listeners, cpus, how).with_context(|| format!("--steer {how}"))
            }
            None if workers > 1 => {
                let usual = listeners::usual_steering(workers, cpus);
                listeners::steer(listeners, cpus, usual).context("steering connections by CPU")
            }
            None => Ok(()),
        }
    }

    fn set_one(&self, listener: &TcpListener) -> anyhow::Result<()> {
        let socket = listener.as_fd();
        if self.no_delay == Switch::Off {
            listener::set_no_delay(socket, false).context("--no-delay off")?;
        }
        if let Some(seconds) = self.defer_accept_s {
            listener::defer_accept(socket, seconds).context("--defer-accept")?;
        }
        if let Some(wish) = self.busy_poll() {
            listener::poll_busily(socket, wish).with_context(|| match wish.preferred_budget {
                None => "--busy-poll",
                Some(_) => "--prefer-busy-poll needs root or CAP_NET_ADMIN",
            })?;
        }
        if let Some(rate) = self.pacing_bytes_s {
            listener::pace(socket, rate).context("--pacing")?;
        }
        self.has_backlog(listener)
    }

    /// Refuses flags about TCP or devices, which have no effect on a Unix socket.
    pub(crate) fn refuse_those_of_tcp(&self) -> anyhow::Result<()> {
        let used = [
            (self.steer.is_some(), "--steer"),
            (self.no_delay == Switch::Off, "--no-delay off"),
            (self.busy_poll_us.is_some(), "--busy-poll"),
            (self.defer_accept_s.is_some(), "--defer-accept"),
            (self.pacing_bytes_s.is_some(), "--pacing"),
        ];
        let used = used.iter().find(|(is_used, _)| *is_used);
        if let Some((_, flag)) = used {
            bail!("{flag} is about TCP, and --listen is at a Unix socket; leave it out");
        }
        Ok(())
    }

    /// Checks that the kernel grants the backlog that was asked for; the default may be cut
    /// silently.
    pub(crate) fn has_backlog(&self, listener: &TcpListener) -> anyhow::Result<()> {
        let Some(wanted) = self.backlog else {
            return Ok(());
        };
        let held = listener::backlog(listener.as_fd()).context("--backlog")?;
        ensure!(
            held >= wanted,
            "--backlog {wanted}: the kernel holds {held}, the most that net.core.somaxconn \
             allows; `linerate levers show accept-queue` tells how to raise that"
        );
        Ok(())
    }
}

/// Parses how fast a connection may send; returns bytes a second.
fn parse_pacing(text: &str) -> Result<u64, String> {
    match spelling::parse_rate(text)? {
        bits @ LEAST_BITS_PER_SECOND.. => Ok(bits / 8),
        _ => Err("expected a rate from 8kbit/s".to_owned()),
    }
}

fn parse_time_us(text: &str) -> Result<u32, String> {
    let wrong = "expected a time from 1us to 1s";
    let time: Duration =
        humantime::parse_duration(text).map_err(|error| format!("{error}; {wrong}"))?;
    match u32::try_from(time.as_micros()) {
        Ok(time_us @ 1..=1_000_000) => Ok(time_us),
        _ => Err(wrong.to_owned()),
    }
}
