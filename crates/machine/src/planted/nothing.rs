//! `nothing`: goes the way of a live lever and sets nothing.

use model::Binds;

use super::{Held, Planted, PlantedError, Setting, Wanted, check_value};

/// The negative control: what a study says of it, it would say of nothing at all.
pub(super) struct Nothing;

impl Planted for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn binds(&self) -> Binds {
        Binds::Live
    }

    fn summary(&self) -> &'static str {
        "sets nothing: a control, of which a study must find no difference"
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        check_value(self, wanted)?;
        Ok(Setting::Held(Box::new(HeldNothing)))
    }
}

struct HeldNothing;

impl Held for HeldNothing {
    fn verify(&self) -> Result<(), PlantedError> {
        Ok(())
    }

    fn undo(self: Box<Self>) -> Result<(), PlantedError> {
        Ok(())
    }
}
