//! `nft-set=N`: a firewall of one rule that looks a packet's sender up among N addresses.

use model::Binds;
use model::lever::Takes;

use super::table::HeldTable;
use super::{Planted, PlantedError, Setting, Wanted, count_of, tried};
use crate::nftables::{Hook, Rule, Table};

const NAME: &str = "nft-set";
/// As many as `nft-rules` compares one after the other.
const MOST: u16 = 500;

/// What linear rules on so many addresses become when they are written as a set.
pub(super) struct NftSet;

impl Planted for NftSet {
    fn name(&self) -> &'static str {
        NAME
    }

    fn binds(&self) -> Binds {
        Binds::Live
    }

    fn summary(&self) -> &'static str {
        "one nft rule that looks the sender of every packet up in a set of so many addresses, where \
         `nft-rules` has a rule for each"
    }

    fn takes(&self) -> Takes {
        Takes::Number(1..=MOST.into())
    }

    fn unavailable(&self, wanted: Wanted<'_>) -> Option<String> {
        tried(self, wanted)
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        let table = Table {
            name: c"linerate-set",
            nobodies: count_of(self, wanted, 100)?,
            rules: vec![(Hook::Input, Rule::DropFromNobodies)],
        };
        Ok(Setting::Held(Box::new(HeldTable::add(NAME, &table)?)))
    }
}
