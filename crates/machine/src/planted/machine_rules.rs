//! `machine-rules`: the rules of this machine's own packet filter, copied into our namespace.

use super::{Held, PlantedError};
use crate::namespace::{self, PrivateNamespace};
use crate::nftables::{self, Ruleset};

const NAME: &str = "machine-rules";

/// What the machine's protection costs, without taking it off the machine.
pub(super) fn hold() -> Result<HeldCopy, PlantedError> {
    let proof = namespace::ours().map_err(|reason| PlantedError::NotPrivate {
        lever: NAME,
        reason,
    })?;
    let ruleset = namespace::in_the_machines(Ruleset::here)
        .map_err(PlantedError::MachineOutOfReach)?
        .map_err(|source| refused("reading the machine's rules", source))?;
    if ruleset.rules() == 0 {
        return Err(PlantedError::NothingThere {
            lever: NAME,
            what: "this machine has no nftables rules, and those of iptables-legacy cannot be \
                   read back",
        });
    }
    let loading = ruleset.load(proof);
    loading.map_err(|source| refused("loading a copy of the machine's rules", source))?;
    Ok(HeldCopy {
        ruleset,
        proof,
        there: true,
    })
}

/// A copy that goes when this is dropped.
pub(super) struct HeldCopy {
    ruleset: Ruleset,
    proof: PrivateNamespace,
    there: bool,
}

impl HeldCopy {
    /// How many of the copied rules the kernel lists.
    fn listed(&self) -> Result<usize, PlantedError> {
        let rules = nftables::rules().map_err(|source| refused("listing the nft rules", source))?;
        let copied = rules
            .iter()
            .filter(|rule| self.ruleset.has_table(&rule.table));
        Ok(copied.count())
    }
}

impl Held for HeldCopy {
    fn verify(&self) -> Result<(), PlantedError> {
        let (listed, copied) = (self.listed()?, self.ruleset.rules());
        if listed == copied {
            return Ok(());
        }
        Err(PlantedError::WithoutEffect {
            lever: NAME,
            what: format!("the kernel lists {listed} rules of {copied}"),
        })
    }

    fn undo(mut self: Box<Self>) -> Result<(), PlantedError> {
        self.there = false;
        let unloading = self.ruleset.unload(self.proof);
        unloading.map_err(|source| refused("taking the copied rules away", source))?;
        match self.listed()? {
            0 => Ok(()),
            left => Err(PlantedError::WithoutEffect {
                lever: NAME,
                what: format!("{left} rules are still there after they were taken away"),
            }),
        }
    }
}

impl Drop for HeldCopy {
    fn drop(&mut self) {
        if self.there {
            // Nobody is left to tell; the namespace takes the tables with it when it ends.
            let _ = self.ruleset.unload(self.proof);
        }
    }
}

fn refused(doing: &'static str, source: std::io::Error) -> PlantedError {
    PlantedError::Refused {
        lever: NAME,
        doing,
        source,
    }
}
