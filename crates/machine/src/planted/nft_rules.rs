//! `nft-rules=N`: a firewall of N rules that are tried one after the other.

use model::Binds;
use model::lever::Takes;

use super::table::HeldTable;
use super::{Held, Planted, PlantedError, Setting, Wanted, number_of, tried};
use crate::nftables::Rule;

const NAME: &str = "nft-rules";
/// Bounds the datagram that carries them, at 300 bytes a rule, to what a socket may send.
const MOST: u64 = 500;

/// Rules that never match, in the input hook.
pub(super) struct NftRules;

impl Planted for NftRules {
    fn name(&self) -> &'static str {
        NAME
    }

    fn binds(&self) -> Binds {
        Binds::Live
    }

    fn summary(&self) -> &'static str {
        "so many linear nft rules that never match, which every packet is compared with: 100 of \
         them about +29 % server CPU per request"
    }

    fn takes(&self) -> Takes {
        Takes::Number(1..=MOST)
    }

    fn unavailable(&self, wanted: Wanted<'_>) -> Option<String> {
        tried(self, wanted)
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        let count = number_of(self, wanted, 100)?;
        // The last byte of an address repeats after 254 rules, which changes nothing: none matches.
        let rules: Vec<_> = (0..count)
            .map(|index| Rule::DropFromNobody((index % 254) as u8 + 1))
            .collect();
        let table = HeldTable::add(NAME, c"linerate-rules", &rules)?;
        Ok(Setting::Held(Box::new(HeldRules(table))))
    }
}

struct HeldRules(HeldTable);

impl Held for HeldRules {
    fn verify(&self) -> Result<(), PlantedError> {
        self.0.listed().map(|_| ())
    }

    fn undo(self: Box<Self>) -> Result<(), PlantedError> {
        self.0.remove()
    }
}
