//! The one loop of all that is measured in rounds: block by block, through what is planned, each kept as
//! it ends.

use std::collections::HashSet;

use model::BlockRecord;
use serde::Serialize;

use crate::clock::Clock;
use crate::plan::{self, Planned};
use crate::store::{Store, StoreError};

/// Who measures the blocks of a run.
pub trait Hands {
    type Reading: Serialize;
    type Error: From<StoreError>;

    /// Measures one block; `None` where its phase ends before it, as nothing more is wanted or can be had.
    ///
    /// # Errors
    /// Whatever ends the run.
    fn measure(
        &mut self,
        next: &Planned,
        kept: &SavedBlocks<Self::Reading>,
    ) -> Result<Option<Self::Reading>, Self::Error>;

    /// Whether targets are started anew for a block.
    fn begins_epoch(&self, _next: &Planned) -> bool {
        false
    }

    /// Whether a block is saved only with the next that does not wait, or at the end.
    fn waits(&self, _reading: &Self::Reading) -> bool {
        false
    }

    /// Told that one block more is kept, the newest, and how far the run is.
    ///
    /// # Errors
    /// Whatever ends the run.
    fn measured(
        &mut self,
        kept: &SavedBlocks<Self::Reading>,
        so_far: SoFar,
    ) -> Result<(), Self::Error>;
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct SoFar {
    /// Blocks that were measured since it began, or went on.
    pub done: usize,
    /// Those that were saved before and stay, beside them.
    pub staying: usize,
    /// All that the run is to have.
    pub planned: usize,
    /// Since then, ms.
    pub at_ms: u64,
}

impl SoFar {
    /// Blocks that the run has.
    pub fn had(self) -> usize {
        self.staying + self.done
    }

    /// What those take that it lacks, if they are like those before, ms.
    pub fn all_left_ms(self) -> u64 {
        self.left_ms(self.planned - self.had())
    }

    /// What so many further blocks take if they are like those before, ms.
    pub fn left_ms(self, blocks: usize) -> u64 {
        self.at_ms * blocks as u64 / self.done.max(1) as u64
    }
}

/// The blocks of a run, and the folder in which they are saved, where there is one.
#[derive(Debug)]
pub struct SavedBlocks<R> {
    pub blocks: Vec<BlockRecord<R>>,
    pub store: Option<Store>,
    /// So many of the blocks are on the disk.
    saved: usize,
    epoch: u32,
}

impl<R: Serialize> SavedBlocks<R> {
    /// A run of which these blocks are saved.
    pub fn new(blocks: Vec<BlockRecord<R>>, store: Option<Store>) -> Self {
        Self {
            saved: blocks.len(),
            epoch: plan::next_epoch(&blocks),
            blocks,
            store,
        }
    }

    /// What is measured from now on is of targets that were started anew.
    pub fn begin_epoch(&mut self) {
        self.epoch = plan::next_epoch(&self.blocks);
    }

    /// Blocks that are not saved yet.
    pub fn waiting(&self) -> usize {
        self.blocks.len() - self.saved
    }

    /// How many blocks stay as they are when these are measured.
    fn staying(&self, remaining: &[Planned]) -> usize {
        let anew: HashSet<_> = remaining.iter().map(Planned::key).collect();
        let blocks = self.blocks.iter();
        blocks.filter(|block| !anew.contains(&block.key())).count()
    }

    /// Takes a block so many ms after the run began or went on, in place of one of a torn round.
    pub fn take(&mut self, next: &Planned, reading: R, at_ms: u64) {
        if let Some(torn) = self
            .blocks
            .iter()
            .position(|block| block.key() == next.key())
        {
            self.blocks.remove(torn);
            self.saved -= usize::from(torn < self.saved);
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

    /// Saves the blocks that wait for it.
    ///
    /// # Errors
    /// A full disk, above all. What was saved before stays whole.
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

    /// Describes the run anew, once more of it is settled.
    ///
    /// # Errors
    /// When the folder cannot be written; the old description stays then.
    pub fn describe<S: Serialize, A: Serialize>(
        &self,
        run: &model::RunRecord<S, A>,
    ) -> Result<(), StoreError> {
        let store = self.store.as_ref();
        store.map_or(Ok(()), |store| store.describe_again(run))
    }
}

/// Goes through blocks in their order.
///
/// # Errors
/// The first that the hands have, or that a block cannot be saved.
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
