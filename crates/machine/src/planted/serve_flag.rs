//! A lever that is a flag of our own server, on or off.

use model::Binds;

use super::{Planted, PlantedError, Setting, Wanted, check_value};

/// A flag of `linerate serve` that is on or off.
pub(super) struct ServeFlag {
    pub(super) name: &'static str,
    pub(super) flag: &'static str,
    pub(super) summary: &'static str,
}

impl Planted for ServeFlag {
    fn name(&self) -> &'static str {
        self.name
    }

    fn binds(&self) -> Binds {
        Binds::Fork
    }

    fn only_serve(&self) -> bool {
        true
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        check_value(self, wanted)?;
        Ok(Setting::ServeArgument(vec![self.flag.to_owned()]))
    }
}
