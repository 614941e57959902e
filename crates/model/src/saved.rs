//! The one decoder for everything that is saved in a run folder or sent between processes. It is
//! compiled here, once for each type: when each crate compiled its own copies, they were a tenth of
//! the program.

use crate::bench::{BenchBlock, SavedBench};
use crate::command_run::{CommandBlock, CommandRun, Evidence};
use crate::command_study::CommandStudy;
use crate::explanation::SavedLook;
use crate::link::LinkRecord;
use crate::load_run::SavedLoad;
use crate::message::{Ask, Tell};
use crate::run::{BlockRecord, RunRecord};
use crate::stream_run::{SavedStreams, StreamBlock};
use crate::study::Study;

/// A type that is read back from JSON.
pub trait Saved: Sized {
    /// Reads a value from JSON.
    ///
    /// # Errors
    /// A text that is not such a value; the error gives its place.
    fn from_json(text: &[u8]) -> serde_json::Result<Self>;
}

macro_rules! saved {
    ($($saved:ty),* $(,)?) => {
        $(impl Saved for $saved {
            fn from_json(text: &[u8]) -> serde_json::Result<Self> {
                serde_json::from_slice(text)
            }
        })*
    };
}

saved! {
    Ask, BenchBlock, BlockRecord, CommandBlock, CommandRun, CommandStudy, Evidence, LinkRecord, RunRecord, SavedBench,
    SavedLoad, SavedLook, SavedStreams, StreamBlock, Study, Tell,
}
