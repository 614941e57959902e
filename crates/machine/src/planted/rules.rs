//! Packet filter rules in a network namespace of our own: loading, checking and removing them.

use std::io;
use std::net::UdpSocket;

use super::{Held, PlantedError, in_the_machines, ours};
use crate::namespace::PrivateNamespace;
use crate::nftables::{self, ListedRule, Ruleset, Table};

/// Number of connections that are tracked in this network namespace.
const COUNT: &str = "/proc/sys/net/netfilter/nf_conntrack_count";

/// Rules that are removed when this is dropped.
pub(super) struct HeldRules {
    lever: &'static str,
    ruleset: Ruleset,
    /// Whether the rules make the kernel track connections.
    tracks: bool,
    proof: PrivateNamespace,
    is_loaded: bool,
}

impl HeldRules {
    /// Loads a table of ours, with `count` rules or addresses if it can have several.
    pub(super) fn of_table(
        lever: &'static str,
        table: &Table,
        count: u16,
    ) -> Result<Self, PlantedError> {
        let proof = ours(lever)?;
        let mut held = Self::load(lever, table.ruleset(count), proof)?;
        held.tracks = table.tracks_connections();
        Ok(held)
    }

    /// Loads a copy of the rules of this machine's own packet filter. This shows what its
    /// protection costs without removing it from the machine.
    pub(super) fn of_the_machine(lever: &'static str) -> Result<Self, PlantedError> {
        let proof = ours(lever)?;
        let ruleset = in_the_machines(Ruleset::here)?
            .map_err(PlantedError::refused(lever, "reading the machine's rules"))?;
        if ruleset.rules() == 0 {
            return Err(PlantedError::Words(format!(
                "{lever}: this machine has no nftables rules, and those of iptables-legacy cannot be \
                 read back"
            )));
        }
        Self::load(lever, ruleset, proof)
    }

    fn load(
        lever: &'static str,
        ruleset: Ruleset,
        proof: PrivateNamespace,
    ) -> Result<Self, PlantedError> {
        let loaded = ruleset.load(proof);
        loaded.map_err(PlantedError::refused(lever, "loading the nft rules"))?;
        Ok(Self {
            lever,
            ruleset,
            tracks: false,
            proof,
            is_loaded: true,
        })
    }

    /// Returns the rules of these tables that the kernel lists.
    fn listed(&self) -> Result<Vec<ListedRule>, PlantedError> {
        let rules = nftables::rules();
        let mut rules =
            rules.map_err(PlantedError::refused(self.lever, "listing the nft rules"))?;
        rules.retain(|rule| self.ruleset.has_table(&rule.table));
        Ok(rules)
    }

    fn without_effect(&self, what: &str) -> PlantedError {
        PlantedError::without_effect(self.lever, what)
    }

    /// Checks that connections are tracked. A listed rule may still track nothing, so this sends a
    /// datagram and looks at the kernel's count of connections.
    fn verify_tracking(&self, listed: &[ListedRule]) -> Result<(), PlantedError> {
        if !listed.iter().all(|rule| rule.tracks_connections) {
            return Err(
                self.without_effect("the listed rule does not look at the connection state")
            );
        }
        let doing = "sending a datagram to ourselves";
        send_to_self().map_err(PlantedError::refused(self.lever, doing))?;
        match sys::kernel_file::number::<u64>(COUNT) {
            Some(0) => Err(self.without_effect("a datagram was sent and no connection is tracked")),
            // If the kernel does not show the count, the list of rules is the only evidence.
            _ => Ok(()),
        }
    }
}

impl Held for HeldRules {
    fn verify(&self) -> Result<(), PlantedError> {
        let (listed, wanted) = (self.listed()?, self.ruleset.rules());
        if listed.len() != wanted {
            let what = format!("the kernel lists {} rules of {wanted}", listed.len());
            return Err(self.without_effect(&what));
        }
        match self.tracks {
            true => self.verify_tracking(&listed),
            false => Ok(()),
        }
    }

    fn undo(mut self: Box<Self>) -> Result<(), PlantedError> {
        self.is_loaded = false;
        let doing = "taking the nft rules away";
        let unloaded = self.ruleset.unload(self.proof);
        unloaded.map_err(PlantedError::refused(self.lever, doing))?;
        match self.listed()?.len() {
            0 => Ok(()),
            left => {
                let what = format!("{left} rules are still there after they were taken away");
                Err(self.without_effect(&what))
            }
        }
    }
}

impl Drop for HeldRules {
    fn drop(&mut self) {
        if self.is_loaded {
            // No caller is left to report an error to; the namespace takes the rules with it when
            // it ends.
            let _ = self.ruleset.unload(self.proof);
        }
    }
}

fn send_to_self() -> io::Result<()> {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    socket.send_to(b"tracked", socket.local_addr()?)?;
    Ok(())
}
