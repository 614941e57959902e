//! `token-bucket`: what leaves by the device is held against a rate that it never reaches.

use model::Binds;
use model::link::{LinkRate, LinkShape, Via};

use super::{Held, Planted, PlantedError, Setting, Wanted, check_value, tried};
use crate::levers::Site;
use crate::namespace;
use crate::rig::qdisc::{QdiscError, Shaped};

const NAME: &str = "token-bucket";
/// Far above what a virtual device carries, so that nothing waits.
const NEVER_REACHED_BITS_PER_SECOND: u64 = 1_000_000_000_000;

/// The queue discipline tbf at the root of the device.
pub(super) struct TokenBucket;

impl Planted for TokenBucket {
    fn name(&self) -> &'static str {
        NAME
    }

    fn binds(&self) -> Binds {
        Binds::Live
    }

    fn summary(&self) -> &'static str {
        "the queue discipline tbf at a rate that is never reached, so that each packet pays for a \
         queue, its lock and the clock, and none waits: about +8 % server CPU per request"
    }

    fn unavailable(&self, wanted: Wanted<'_>) -> Option<String> {
        tried(self, wanted)
    }

    fn set(&self, wanted: Wanted<'_>) -> Result<Setting, PlantedError> {
        check_value(self, wanted)?;
        namespace::ours().map_err(|reason| PlantedError::NotPrivate {
            lever: NAME,
            reason,
        })?;
        let shape = LinkShape {
            rate: Some(LinkRate::Steady {
                bits_per_second: NEVER_REACHED_BITS_PER_SECOND,
            }),
            ..LinkShape::default()
        };
        let shaped = Shaped::start(Site::here(None).device()?.as_str(), Via::Tbf, &shape)?;
        Ok(Setting::Held(Box::new(HeldBucket(Some(shaped)))))
    }
}

/// `None` once it was taken away.
struct HeldBucket(Option<Shaped>);

impl Held for HeldBucket {
    fn verify(&self) -> Result<(), PlantedError> {
        if let Some(shaped) = &self.0 {
            shaped.verify()?;
        }
        Ok(())
    }

    fn undo(mut self: Box<Self>) -> Result<(), PlantedError> {
        let Some(shaped) = self.0.take() else {
            return Ok(());
        };
        shaped.take_away()?;
        match shaped.verify() {
            Err(QdiscError::Another { .. }) => Ok(()),
            Err(error) => Err(error.into()),
            Ok(still) => Err(PlantedError::WithoutEffect {
                lever: NAME,
                what: format!("`{still}` is still there after it was taken away"),
            }),
        }
    }
}

impl Drop for HeldBucket {
    fn drop(&mut self) {
        if let Some(shaped) = &self.0 {
            // Nobody is left to tell; the namespace takes it along when it ends.
            let _ = shaped.take_away();
        }
    }
}
