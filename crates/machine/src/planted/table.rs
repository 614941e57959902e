//! A table of ours in nftables that is held, checked and taken away.

use std::ffi::CStr;
use std::io;

use super::{Held, PlantedError};
use crate::namespace::{self, PrivateNamespace};
use crate::nftables::{self, ListedRule, Table};

/// A table that goes when this is dropped.
pub(super) struct HeldTable {
    lever: &'static str,
    name: &'static CStr,
    rules: usize,
    proof: PrivateNamespace,
    there: bool,
}

impl HeldTable {
    pub(super) fn add(lever: &'static str, table: &Table) -> Result<Self, PlantedError> {
        let proof =
            namespace::ours().map_err(|reason| PlantedError::NotPrivate { lever, reason })?;
        nftables::add_table(proof, table)
            .map_err(|source| refused(lever, "adding the nft table", source))?;
        Ok(Self {
            lever,
            name: table.name,
            rules: table.rules.len(),
            proof,
            there: true,
        })
    }

    /// The table's rules as the kernel lists them, if there are as many as were added.
    pub(super) fn listed(&self) -> Result<Vec<ListedRule>, PlantedError> {
        let listed = self.list()?;
        if listed.len() == self.rules {
            return Ok(listed);
        }
        let what = format!("the kernel lists {} rules of {}", listed.len(), self.rules);
        Err(PlantedError::WithoutEffect {
            lever: self.lever,
            what,
        })
    }

    pub(super) fn remove(mut self) -> Result<(), PlantedError> {
        self.there = false;
        nftables::delete_table(self.proof, self.name)
            .map_err(|source| refused(self.lever, "taking the nft table away", source))?;
        let left = self.list()?.len();
        if left == 0 {
            return Ok(());
        }
        let what = format!("{left} rules are still there after the table was taken away");
        Err(PlantedError::WithoutEffect {
            lever: self.lever,
            what,
        })
    }

    fn list(&self) -> Result<Vec<ListedRule>, PlantedError> {
        let mut rules = nftables::rules()
            .map_err(|source| refused(self.lever, "listing the nft rules", source))?;
        rules.retain(|rule| rule.table.as_bytes() == self.name.to_bytes());
        Ok(rules)
    }
}

impl Held for HeldTable {
    fn verify(&self) -> Result<(), PlantedError> {
        self.listed().map(|_| ())
    }

    fn undo(self: Box<Self>) -> Result<(), PlantedError> {
        self.remove()
    }
}

impl Drop for HeldTable {
    fn drop(&mut self) {
        if self.there {
            // Nobody is left to tell; the namespace takes the table with it when it ends.
            let _ = nftables::delete_table(self.proof, self.name);
        }
    }
}

fn refused(lever: &'static str, doing: &'static str, source: io::Error) -> PlantedError {
    PlantedError::Refused {
        lever,
        doing,
        source,
    }
}
