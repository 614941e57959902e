//! `nft-rules=N`: a firewall of N rules that are tried one after the other.

use model::Binds;
use model::lever::Takes;

use super::table::HeldTable;
use super::{Planted, PlantedError, Setting, Wanted, count_of, tried};
use crate::nftables::{Hook, Rule, Table};

const NAME: &str = "nft-rules";
/// Bounds the datagram that carries them, at 300 bytes a rule, to what a socket may send.
const MOST: u16 = 500;

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
        Takes::Number(1..=MOST.into())
    }

    fn unavailable(&self, wanted: Wanted<'_>) -> Option<String> {
        tried(self, wanted)
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        let count = count_of(self, wanted, 100)?;
        let rule = |nth| (Hook::Input, Rule::DropFromNobody(nth));
        let table = Table {
            name: c"linerate-rules",
            nobodies: 0,
            rules: (0..count).map(rule).collect(),
        };
        Ok(Setting::Held(Box::new(HeldTable::add(NAME, &table)?)))
    }
}
