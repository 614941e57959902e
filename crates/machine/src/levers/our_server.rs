//! Levers of our own server. They are flags of `linerate serve`, most of them for its sockets.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd as _;
use std::time::Duration;

use model::link::spelling::parse_rate;
use serde::Deserialize;
use sys::epoll::Epoll;
use sys::listener::{self, BusyPoll};
use sys::socket::{self, ListenOptions};
use sys::uring::usable;

use super::{Obstacle, Site};
use crate::tree::Tree;

/// A flag of `linerate serve`, as a row of the lever catalogue describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfOurServer {
    pub(super) flag: String,
    takes: Takes,
    /// What the server does when the flag is not given.
    unset: String,
    /// Whether the flag needs a kernel that can make TLS records (kTLS).
    #[serde(default)]
    needs_kernel_tls: bool,
    refused_in_studies: Option<Refusal>,
}

/// The values that a flag takes.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Takes {
    Number(u32, u32),
    Words(Vec<String>),
    Time(Time, Time),
    /// A rate of at least one byte per millisecond.
    Rate,
    CipherSuites,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct Time(Duration);

/// Why the server of a study cannot have the flag. Such a server is one process of an ordinary
/// user.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Refusal {
    Always(String),
    /// Refused if the server has one worker, or if the CPUs of its workers do not allow it.
    Steering,
    /// Refused if the server may not have an io_uring.
    Ring,
    BusyPolling,
    /// Refused if the kernel holds a shorter backlog than asked for.
    Backlog,
}

/// A flag of our server, and its value.
#[derive(Clone)]
pub struct ServerPart {
    row: &'static OfOurServer,
    value: String,
}

impl OfOurServer {
    /// Returns what the server does without the flag, if this machine can have the flag.
    pub(super) fn unset_at(&self, site: &Site) -> Result<String, Obstacle> {
        if self.needs_kernel_tls && !has_kernel_tls(&site.tree) {
            return Err(Obstacle::Absent(NO_KERNEL_TLS.to_owned()));
        }
        Ok(self.unset.clone())
    }

    /// Returns the flag with a value; `None` if the flag does not take that value.
    pub(super) fn part(&'static self, value: &str) -> Option<ServerPart> {
        let value = value.to_owned();
        let row = self;
        self.takes.has(&value).then_some(ServerPart { row, value })
    }
}

impl ServerPart {
    /// Returns the flag and its value as arguments of the server's command line.
    pub(crate) fn arguments(&self) -> Vec<String> {
        vec![self.row.flag.clone(), self.value.clone()]
    }

    /// Checks that the server of a study can have the flag, with a worker on each of these CPUs.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub(crate) fn rehearse(&self, cpus: &[usize]) -> Result<(), Obstacle> {
        let refusal = self.row.refused_in_studies.as_ref();
        let refused = refusal.and_then(|refusal| refusal.of(&self.value, cpus));
        refused.map_or(Ok(()), |why| Err(Obstacle::Absent(why)))
    }
}

impl Takes {
    fn has(&self, value: &str) -> bool {
        match self {
            Self::Number(least, most) => {
                let number = value.parse::<u32>();
                number.is_ok_and(|number| (least..=most).contains(&&number))
            }
            Self::Words(words) => words.iter().any(|word| word == value),
            Self::Time(least, most) => {
                let time = humantime::parse_duration(value);
                time.is_ok_and(|time| (least.0..=most.0).contains(&time))
            }
            Self::Rate => parse_rate(value).is_ok_and(|bits| bits >= 8_000),
            Self::CipherSuites => value.split(',').all(is_name_of_a_suite),
        }
    }
}

impl TryFrom<String> for Time {
    type Error = humantime::DurationError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        humantime::parse_duration(&text).map(Self)
    }
}

impl Refusal {
    /// Returns why the value is refused, if it is.
    fn of(&self, value: &str, cpus: &[usize]) -> Option<String> {
        let words = |outcome: std::io::Result<()>| outcome.err().map(|error| error.to_string());
        match (self, value) {
            (Self::Always(why), _) => Some(why.clone()),
            (Self::Steering, _) => cannot_steer(value, cpus),
            (Self::Ring, "uring") => {
                let tried = usable::try_out_for_descended();
                tried.err().map(|refused| refused.to_string())
            }
            (Self::Ring, _) => None,
            (Self::BusyPolling, _) => words(polls_busily()),
            (Self::Backlog, _) => holds_backlog(value),
        }
    }
}

fn polls_busily() -> std::io::Result<()> {
    Epoll::new()?.poll_busily(BusyPoll {
        time_us: 1,
        preferred_budget: None,
    })
}

/// Returns why connections cannot be steered in this way to one worker on each of these CPUs, if
/// they cannot (`crates/traffic/src/engine/listeners.rs` makes the same check when a server
/// starts).
fn cannot_steer(value: &str, cpus: &[usize]) -> Option<String> {
    let is_by_number = || cpus.iter().copied().eq(0..cpus.len());
    match value {
        _ if cpus.len() < 2 => Some(model::lever::ONE_WORKER.to_owned()),
        "cbpf" if !is_by_number() => Some(format!(
            "the kernel's program identifies a worker by the number of its CPU, so workers must be \
             on the CPUs 0, 1, …, but are on {}",
            sys::cpu::format_list(cpus)
        )),
        _ => None,
    }
}

fn any_listener(backlog: i32) -> std::io::Result<TcpListener> {
    let options = ListenOptions {
        shared_port: false,
        backlog,
    };
    socket::listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), options)
}

/// Returns why a listener of ours does not hold the wanted backlog, if it does not.
fn holds_backlog(value: &str) -> Option<String> {
    let wanted = value.parse().unwrap_or(i32::MAX);
    let held = any_listener(wanted).and_then(|listener| listener::backlog(listener.as_fd()));
    match held {
        Err(error) => Some(error.to_string()),
        Ok(held) if value.parse() == Ok(held) => None,
        Ok(held) => Some(format!(
            "the kernel holds {held}, because of net.core.somaxconn"
        )),
    }
}

const NO_KERNEL_TLS: &str = "this kernel has no kTLS: net.ipv4.tcp_available_ulp does not name \
    `tls`, and there is no module `tls`";

/// Looks only at what the kernel lists. Asking the kernel for kTLS would make it load the module,
/// and a check must change nothing.
fn has_kernel_tls(tree: &Tree) -> bool {
    let offered = tree.text("proc/sys/net/ipv4/tcp_available_ulp");
    let release = tree.text("proc/sys/kernel/osrelease").unwrap_or_default();
    let modules = tree.text(&format!("lib/modules/{release}/modules.dep"));
    offered.is_some_and(|names| names.split(' ').any(|name| name == "tls"))
        || modules.is_some_and(|paths| paths.contains("/tls.ko"))
}

/// Whether a word has the form of a suite's name. The server itself knows which suites exist.
fn is_name_of_a_suite(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    word.starts_with("TLS_") && word.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_is_held_however_its_number_is_written() {
        for value in ["77", "077", "+77"] {
            assert_eq!(holds_backlog(value), None, "{value}");
        }
        assert!(holds_backlog("2147483647").is_some());
    }

    #[test]
    fn what_can_be_no_cipher_suite_is_refused_before_a_server_is_started() {
        let takes = |value| Takes::CipherSuites.has(value);
        assert!(takes("TLS_AES_128_GCM_SHA256,TLS_CHACHA20_POLY1305_SHA256"));
        for wrong in ["", "AES128", "TLS_AES_128_GCM_SHA256,", "tls_aes"] {
            assert!(!takes(wrong), "{wrong}");
        }
    }
}
