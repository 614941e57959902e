//! The one loop of all that is measured in rounds: block by block, through what is planned.

use crate::clock::Clock;
use crate::plan::Planned;

/// Who measures the blocks of a run, and does with them what that run does.
pub trait Hands {
    type Reading;
    type Error;

    /// Measures one block; `None` where the run ends before it, as nothing more is wanted or can be had.
    ///
    /// # Errors
    /// Whatever ends the run.
    fn measure(&mut self, next: &Planned) -> Result<Option<Self::Reading>, Self::Error>;

    /// Keeps what was measured, and tells how far the run is.
    ///
    /// # Errors
    /// Where it cannot be kept.
    fn keep(
        &mut self,
        next: &Planned,
        reading: Self::Reading,
        so_far: SoFar,
    ) -> Result<(), Self::Error>;
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct SoFar {
    /// Blocks that were measured since it began, or went on.
    pub done: usize,
    /// Since then, ms.
    pub at_ms: u64,
}

impl SoFar {
    /// What so many further blocks take if they are like those before, ms.
    #[must_use]
    pub fn left_ms(self, blocks: usize) -> u64 {
        self.at_ms * blocks as u64 / self.done.max(1) as u64
    }
}

/// Goes through blocks in their order.
///
/// # Errors
/// The first that the hands have.
pub fn go_through<H: Hands>(
    hands: &mut H,
    planned: impl IntoIterator<Item = Planned>,
    clock: &dyn Clock,
) -> Result<(), H::Error> {
    let begun_ms = clock.now_ms();
    for (done, next) in (1..).zip(planned) {
        let Some(reading) = hands.measure(&next)? else {
            break;
        };
        let at_ms = clock.now_ms() - begun_ms;
        hands.keep(&next, reading, SoFar { done, at_ms })?;
    }
    Ok(())
}
