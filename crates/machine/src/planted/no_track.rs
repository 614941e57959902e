//! `no-track`: TCP goes by the tracking of connections.

use model::Binds;

use super::table::HeldTable;
use super::{Planted, PlantedError, Setting, Wanted, check_value, tried};
use crate::nftables::{Hook, Rule, Table};

const NAME: &str = "no-track";

/// A rule each for what comes in and what goes out, before connections are looked up.
pub(super) struct NoTrack;

impl Planted for NoTrack {
    fn name(&self) -> &'static str {
        NAME
    }

    fn binds(&self) -> Binds {
        Binds::Live
    }

    fn summary(&self) -> &'static str {
        "nft rules that exempt TCP from connection tracking, as one does for a busy port behind a \
         stateful firewall; they cost two hooks themselves"
    }

    fn unavailable(&self, wanted: Wanted<'_>) -> Option<String> {
        tried(self, wanted)
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        check_value(self, wanted)?;
        let hooks = [Hook::RawPrerouting, Hook::RawOutput];
        let table = Table {
            name: c"linerate-no-track",
            nobodies: 0,
            rules: hooks.map(|hook| (hook, Rule::DoNotTrackTcp)).to_vec(),
        };
        Ok(Setting::Held(Box::new(HeldTable::add(NAME, &table)?)))
    }
}
