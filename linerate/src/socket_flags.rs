//! Flags of the sockets of `serve` and `echo`, and what becomes of them on open listeners.

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
/// Packets in one go where nobody says, the kernel's own (`BUSY_POLL_BUDGET` of net/busy_poll.h).
const BUDGET: &str = "8";
/// With less, a full segment would take longer than clients wait.
const LEAST_BITS_PER_SECOND: u64 = 8_000;

#[derive(clap::Args)]
pub(crate) struct SocketFlags {
    /// How workers get connections: cbpf, incoming-cpu or hash [default: cbpf if it can be]
    ///
    /// By cbpf and incoming-cpu, the worker on the CPU that received a connection has it: by a program
    /// in the kernel, which wants one worker on each of the CPUs 0, 1, …, or by a CPU that each
    /// listener names (Linux 6.2), which wants one worker on each CPU of the list. By hash, the kernel
    /// chooses by the addresses.
    #[arg(long, hide_short_help = true, value_name = "HOW", value_parser = values::one_of::<Steering>(Steering::ALL.map(Steering::name)), hide_possible_values = true, help_heading = SOCKETS)]
    steer: Option<Steering>,

    /// Send small answers at once (`TCP_NODELAY`), on or off
    ///
    /// With off, an answer waits until the one before it is acknowledged, or there is a full segment.
    #[arg(long, hide_short_help = true, value_name = "WHEN", default_value = "on", hide_possible_values = true, help_heading = SOCKETS)]
    no_delay: Switch,

    /// Look at the device for so long before waiting (`SO_BUSY_POLL`, `EPIOCSPARAMS`)
    ///
    /// It takes Linux 6.9. A loopback or veth connection comes from no device, so there it does nothing.
    #[arg(long = "busy-poll", hide_short_help = true, value_name = "TIME", value_parser = parse_time_us, help_heading = SOCKETS)]
    busy_poll_us: Option<u32>,

    /// Leave it to that, with so many packets in one go, before interrupts [default: 8]
    ///
    /// `SO_PREFER_BUSY_POLL` and `SO_BUSY_POLL_BUDGET`, for which the kernel wants CAP_NET_ADMIN.
    #[arg(long, hide_short_help = true, value_name = "BUDGET", requires = "busy_poll_us", num_args = 0..=1,
        default_missing_value = BUDGET, value_parser = clap::value_parser!(u16).range(1..), help_heading = SOCKETS)]
    prefer_busy_poll: Option<u16>,

    /// Take connections once they have sent something, or after so long (`TCP_DEFER_ACCEPT`)
    #[arg(long = "defer-accept", hide_short_help = true, value_name = "TIME", value_parser = parse_seconds, help_heading = SOCKETS)]
    defer_accept_s: Option<u32>,

    /// Connections that may wait to be taken [default: 4096, or net.core.somaxconn if that is less]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_535), help_heading = SOCKETS)]
    backlog: Option<u32>,

    /// Let a connection send no faster, and spread over the time (`SO_MAX_PACING_RATE`)
    ///
    /// Bits a second of what TCP carries, such as 100Mbit/s. TCP keeps the time itself; where `fq` is the
    /// queue discipline of the device, that does.
    #[arg(long = "pacing", hide_short_help = true, value_name = "RATE", value_parser = parse_pacing, help_heading = SOCKETS)]
    pacing_bytes_s: Option<u64>,
}

impl SocketFlags {
    /// Connections that may wait, as the kernel is asked.
    pub(crate) fn backlog(&self) -> u32 {
        self.backlog.unwrap_or(listeners::BACKLOG)
    }

    pub(crate) fn busy_poll(&self) -> Option<BusyPoll> {
        self.busy_poll_us.map(|time_us| BusyPoll {
            time_us,
            preferred_budget: self.prefer_busy_poll,
        })
    }

    /// Sets all of it on open listeners, before anybody is told of them; accepted connections inherit
    /// it.
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
                Some(_) => "--prefer-busy-poll takes root or CAP_NET_ADMIN",
            })?;
        }
        if let Some(rate) = self.pacing_bytes_s {
            listener::pace(socket, rate).context("--pacing")?;
        }
        self.has_backlog(listener)
    }

    /// On a socket among the files, what is about TCP or about devices is for nothing.
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
            bail!("{flag} is about TCP, and --listen is at a socket among the files; leave it out");
        }
        Ok(())
    }

    /// What nobody asked for may be cut in silence.
    pub(crate) fn has_backlog(&self, listener: &TcpListener) -> anyhow::Result<()> {
        let Some(wanted) = self.backlog else {
            return Ok(());
        };
        let held = listener::backlog(listener.as_fd()).context("--backlog")?;
        ensure!(
            held >= wanted,
            "--backlog {wanted}: the kernel holds {held}, the most that net.core.somaxconn lets it \
             have; `linerate levers show accept-queue` tells how to raise that"
        );
        Ok(())
    }
}

/// How fast a connection may send, bytes a second.
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
