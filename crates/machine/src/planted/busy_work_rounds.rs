//! `busy-work-rounds=N`: the server goes round a loop N times for each request.

use model::Binds;
use model::lever::Takes;

use super::{Planted, PlantedError, Setting, Wanted, number_of};

const NAME: &str = "busy-work-rounds";

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
        "the server goes round a loop so often for each request: a slowdown whose size it tells"
    }

    /// 0 is the lever that does nothing, for runs that must find no difference.
    fn takes(&self) -> Takes {
        Takes::Number(0..=1_000_000_000)
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        let rounds = number_of(self, wanted, 1_000)?;
        Ok(Setting::ServeArgument(vec![
            "--busy-work-rounds".to_owned(),
            rounds.to_string(),
        ]))
    }
}
