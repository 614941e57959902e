//! `busy-work-ns=N`: the server spins for N ns on each request.

use std::ops::RangeInclusive;

use model::Binds;

use super::{Planted, PlantedError, Setting, value_of};

const NAME: &str = "busy-work-ns";

/// Planted work, by which tests know what a study must find.
pub(super) struct BusyWork;

impl Planted for BusyWork {
    fn name(&self) -> &'static str {
        NAME
    }

    fn binds(&self) -> Binds {
        Binds::Fork
    }

    fn only_serve(&self) -> bool {
        true
    }

    fn summary(&self) -> &'static str {
        "the server spins for so many nanoseconds on each request: a slowdown of known size"
    }

    /// 0 is the lever that does nothing, for runs that must find no difference.
    fn values(&self) -> Option<RangeInclusive<u64>> {
        Some(0..=1_000_000_000)
    }

    fn unavailable(&self) -> Option<String> {
        None
    }

    fn set(&self, value: Option<u64>) -> Result<Setting, PlantedError> {
        let busy_ns = value_of(self, value, 1_000)?;
        Ok(Setting::ServeArgument(vec![
            "--busy-work-ns".to_owned(),
            busy_ns.to_string(),
        ]))
    }
}
