//! `conntrack`: the kernel tracks every connection, as it does behind any stateful firewall.

use std::io;
use std::net::UdpSocket;

use super::table::HeldTable;
use super::{Held, PlantedError};
use crate::nftables::{Hook, Rule, Table};

const NAME: &str = "conntrack";
/// Connections that are tracked in this network namespace.
const COUNT: &str = "/proc/sys/net/netfilter/nf_conntrack_count";

/// One rule that asks for the state of the connection.
pub(super) fn hold() -> Result<HeldConntrack, PlantedError> {
    let table = Table {
        name: c"linerate-conntrack",
        nobodies: 0,
        rules: vec![(Hook::Input, Rule::LookAtConnectionState)],
    };
    HeldTable::add(NAME, &table).map(HeldConntrack)
}

/// A table by which connections are tracked.
pub(super) struct HeldConntrack(HeldTable);

impl Held for HeldConntrack {
    /// A rule that is listed may still track nothing, so a datagram is sent and the kernel's count
    /// of connections looked at.
    fn verify(&self) -> Result<(), PlantedError> {
        let without_effect = |what: &str| {
            Err(PlantedError::WithoutEffect {
                lever: NAME,
                what: what.to_owned(),
            })
        };
        if !self.0.listed()?.iter().all(|rule| rule.tracks_connections) {
            return without_effect("the rule that is listed asks for no connection state");
        }
        send_to_self().map_err(|source| PlantedError::Refused {
            lever: NAME,
            doing: "sending a datagram to ourselves",
            source,
        })?;
        match sys::kernel_file::number::<u64>(COUNT) {
            Some(0) => without_effect("a datagram was sent and no connection is tracked"),
            // Where the kernel does not show the count, the list of rules is all there is.
            _ => Ok(()),
        }
    }

    fn undo(self: Box<Self>) -> Result<(), PlantedError> {
        self.0.remove()
    }
}

fn send_to_self() -> io::Result<()> {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    socket.send_to(b"tracked", socket.local_addr()?)?;
    Ok(())
}
