//! `token-bucket`: packets that leave by the device pass a rate limit that they never reach.

use model::link::{LinkRate, LinkShape, Via};

use super::{Held, PlantedError, ours};
use crate::levers::Site;
use crate::rig::qdisc::{QdiscError, Shaped};

const NAME: &str = "token-bucket";
/// Far above the rate of a virtual device, so that nothing waits.
const NEVER_REACHED_BITS_PER_SECOND: u64 = 1_000_000_000_000;

/// Puts the queueing discipline tbf at the root of the device.
pub(super) fn hold() -> Result<HeldBucket, PlantedError> {
    ours(NAME)?;
    let shape = LinkShape {
        rate: Some(LinkRate::Steady {
            bits_per_second: NEVER_REACHED_BITS_PER_SECOND,
        }),
        ..LinkShape::default()
    };
    let shaped = Shaped::start(Site::here(None).device()?.as_str(), Via::Tbf, &shape)?;
    Ok(HeldBucket(Some(shaped)))
}

/// A token bucket on a device; `None` once it was removed.
pub(super) struct HeldBucket(Option<Shaped>);

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
            Ok(still) => {
                let what = format!("`{still}` is still there after it was taken away");
                Err(PlantedError::without_effect(NAME, &what))
            }
        }
    }
}

impl Drop for HeldBucket {
    fn drop(&mut self) {
        if let Some(shaped) = &self.0 {
            // No caller is left to report an error to; the namespace takes the bucket with it when
            // it ends.
            let _ = shaped.take_away();
        }
    }
}
