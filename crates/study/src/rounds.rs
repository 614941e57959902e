//! The measurement loop. Every run that is measured in rounds goes through it: it measures the
//! planned blocks one by one and saves each when it ends.

use std::collections::HashSet;

use model::BlockRecord;
use serde::Serialize;

use crate::clock::Clock;
use crate::plan::{self, Planned};
use crate::store::{Store, StoreError};

/// Measures the blocks of a run.
pub trait Hands {
    type Reading: Serialize;
    type Error: From<StoreError>;

    /// Measures one block; `None` if its phase ends before it, because no more blocks are wanted or
    /// possible.
    ///
    /// # Errors
    /// Any error that ends the run.
    fn measure(
        &mut self,
        next: &Planned,
        kept: &SavedBlocks<Self::Reading>,
    ) -> Result<Option<Self::Reading>, Self::Error>;

    /// Whether targets are started again for a block.
    fn begins_epoch(&self, _next: &Planned) -> bool {
        false
    }

    /// Whether a block is saved only together with the next one that does not wait, or at the end.
    fn waits(&self, _reading: &Self::Reading) -> bool {
        false
    }

    /// Called when one block more is recorded, the newest, with how far the run is.
    ///
    /// # Errors
    /// Any error that ends the run.
    fn measured(
        &mut self,
        kept: &SavedBlocks<Self::Reading>,
        so_far: SoFar,
    ) -> Result<(), Self::Error>;
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct SoFar {
    /// Blocks measured since the run began or was resumed.
    pub done: usize,
    /// Blocks that were saved before and are not measured again; `done` does not include them.
    pub staying: usize,
    /// All blocks of the run.
    pub planned: usize,
    /// Time since the run began or was resumed, ms.
    pub at_ms: u64,
}

impl SoFar {
    /// Blocks that the run has so far.
    pub fn had(self) -> usize {
        self.staying + self.done
    }

    /// Estimates how long the missing blocks take if they are like those before, ms.
    pub fn all_left_ms(self) -> u64 {
        self.left_ms(self.planned - self.had())
    }

    /// Estimates how long `blocks` further blocks take if they are like those before, ms.
    pub fn left_ms(self, blocks: usize) -> u64 {
        self.at_ms * blocks as u64 / self.done.max(1) as u64
    }
}

/// The blocks of a run, and the folder in which they are saved, if there is one.
#[derive(Debug)]
pub struct SavedBlocks<R> {
    pub blocks: Vec<BlockRecord<R>>,
    pub store: Option<Store>,
    /// Number of blocks that are on disk.
    saved: usize,
    epoch: u32,
}

impl<R: Serialize> SavedBlocks<R> {
    /// A run whose saved blocks are these.
    pub fn new(blocks: Vec<BlockRecord<R>>, store: Option<Store>) -> Self {
        Self {
            saved: blocks.len(),
            epoch: plan::next_epoch(&blocks),
            blocks,
            store,
        }
    }

    /// Starts a new epoch: the blocks that follow come from targets that were started again.
    pub fn begin_epoch(&mut self) {
        self.epoch = plan::next_epoch(&self.blocks);
    }

    /// Number of blocks that are not saved yet.
    pub fn waiting(&self) -> usize {
        self.blocks.len() - self.saved
    }

    /// Number of blocks that stay as they are when the remaining ones are measured.
    fn staying(&self, remaining: &[Planned]) -> usize {
        let again: HashSet<_> = remaining.iter().map(Planned::key).collect();
        let blocks = self.blocks.iter();
        blocks.filter(|block| !again.contains(&block.key())).count()
    }

    /// Adds a block, measured `at_ms` after the run began or was resumed. It replaces the block of
    /// an interrupted round.
    pub fn take(&mut self, next: &Planned, reading: R, at_ms: u64) {
        if let Some(replaced) = self
            .blocks
            .iter()
            .position(|block| block.key() == next.key())
        {
            self.blocks.remove(replaced);
            self.saved -= usize::from(replaced < self.saved);
        }
        self.blocks.push(BlockRecord {
            phase: next.phase,
            epoch: self.epoch,
            round: next.round,
            position: next.position,
            arm: next.name.clone(),
            at_ms,
            reading,
        });
    }

    /// Saves the blocks that are not saved yet.
    ///
    /// # Errors
    /// Above all a full disk. What was saved before stays whole.
    pub fn save(&mut self) -> Result<(), StoreError> {
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        for block in &self.blocks[self.saved..] {
            store.append(block)?;
            self.saved += 1;
        }
        Ok(())
    }

    /// Replaces the description of the run, once more of it is settled.
    ///
    /// # Errors
    /// If the folder cannot be written; the old description then stays.
    pub fn describe<S: Serialize, A: Serialize>(
        &self,
        run: &model::RunRecord<S, A>,
    ) -> Result<(), StoreError> {
        let store = self.store.as_ref();
        store.map_or(Ok(()), |store| store.describe_again(run))
    }
}

/// Measures the planned blocks in their order.
///
/// # Errors
/// The first error of the hands, or that a block cannot be saved.
pub fn go_through<H: Hands>(
    hands: &mut H,
    planned: Vec<Planned>,
    kept: &mut SavedBlocks<H::Reading>,
    clock: &dyn Clock,
) -> Result<(), H::Error> {
    let begun_ms = clock.now_ms();
    let (mut done, mut ended) = (0, None);
    let staying = kept.staying(&planned);
    let all = staying + planned.len();
    for next in planned {
        if ended == Some(next.phase) {
            continue;
        }
        if hands.begins_epoch(&next) {
            kept.begin_epoch();
        }
        let Some(reading) = hands.measure(&next, kept)? else {
            ended = Some(next.phase);
            continue;
        };
        done += 1;
        let at_ms = clock.now_ms() - begun_ms;
        let waits = hands.waits(&reading);
        kept.take(&next, reading, at_ms);
        if !waits {
            kept.save()?;
        }
        let so_far = SoFar {
            done,
            staying,
            planned: all,
            at_ms,
        };
        hands.measured(kept, so_far)?;
    }
    Ok(kept.save()?)
}
