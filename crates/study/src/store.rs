//! The run folder during a run. One line is appended and synced after each block, so a crash loses
//! at most the block that was being measured.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use model::command::CommandTrouble;
use model::command_run::{CommandArm, Measured};
use model::failure::Failure;
use model::link::LinkRecord;
use model::run::{BLOCKS_FILE, Blocks, LINK_FILE, MOST_BLOCKS_BYTES, MOST_RUN_BYTES, RUN_FILE};
use model::{Arm, BlockRecord, CommandStudy, Reading, RunRecord, Saved, Study};
use serde::Serialize;

use crate::described::Described;

/// Why a run folder could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("no room for {path}: {source}; make room on its disk")]
    Full { path: PathBuf, source: io::Error },
    #[error(
        "no run can be saved in {path}: {source}; give another folder with `--out`, or change its \
         permissions"
    )]
    Refused { path: PathBuf, source: io::Error },
    #[error(
        "{path} holds a run already: give another folder with `--out`. `linerate study report {path}` judges that \
         run, and `linerate study resume {path}` continues a study that was stopped"
    )]
    Taken { path: PathBuf },
    #[error("{path} holds blocks without their {RUN_FILE}; give another folder with `--out`")]
    Orphans { path: PathBuf },
    #[error("{path} is being written by another Linerate; wait for it, or use another folder")]
    InUse { path: PathBuf },
    #[error("{path} was removed while the run went on; start the run again")]
    Removed { path: PathBuf },
    #[error("{path} cannot be resumed: {reason}")]
    Unreadable { path: PathBuf, reason: String },
}

/// For runs of commands or of a load, which are resumed by their own command.
impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self {
            what: error.to_string(),
            advice: "fix that, and resume the run".to_owned(),
        }
    }
}

impl From<StoreError> for CommandTrouble {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// An open run folder, its description and its blocks.
pub type Resumed<S = Study, A = Arm, R = Reading> = (Store, RunRecord<S, A>, Vec<BlockRecord<R>>);

/// An open run folder of a study of commands.
pub type ResumedCommands = Resumed<CommandStudy, CommandArm, Measured>;

/// An open run folder.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    blocks: File,
}

impl Store {
    /// Makes the folder and reserves it for a run that is described later, so that an unusable
    /// folder is noticed before anything is measured.
    ///
    /// # Errors
    /// If the folder holds a run already, another process uses it, or it cannot be written.
    pub fn claim(folder: &Path) -> Result<ClaimedFolder, StoreError> {
        let made = Made::folders(folder).map_err(refused(folder))?;
        let path = folder.join(BLOCKS_FILE);
        let is_described = folder.join(RUN_FILE).exists();
        if is_described && !path.exists() {
            return Err(taken(folder));
        }
        let made = made.with_file(&path);
        let blocks = open_blocks(folder)?;
        if is_described {
            return Err(taken(folder));
        }
        // A run that was killed before it was described leaves an empty file, which is harmless.
        if blocks.metadata().map_err(at(&path))?.len() > 0 {
            return Err(StoreError::Orphans {
                path: folder.to_owned(),
            });
        }
        let folder = folder.to_owned();
        Ok(ClaimedFolder {
            store: Self { folder, blocks },
            made,
        })
    }

    /// Opens the folder of a stopped run, and cuts off a half-written line that a crash left at its
    /// end.
    ///
    /// # Errors
    /// If there is no run, it has another format or cannot be one of ours, or another process
    /// writes it.
    pub fn resume<S, A, R>(folder: &Path) -> Result<Resumed<S, A, R>, StoreError>
    where
        RunRecord<S, A>: Described + Saved,
        BlockRecord<R>: Saved,
    {
        let run: RunRecord<S, A> = read_run(folder)?;
        if let Some(reason) = run.nonsense() {
            return Err(StoreError::Unreadable {
                path: folder.join(RUN_FILE),
                reason: format!("{reason}; run the study again"),
            });
        }
        let path = folder.join(BLOCKS_FILE);
        let blocks = open_blocks(folder)?;
        // Read as bytes, because a write may have been cut short within a character.
        let bytes = foreign::file::read(&path, MOST_BLOCKS_BYTES).map_err(at(&path))?;
        let saved = Blocks::parse(&bytes).map_err(|bad| StoreError::Unreadable {
            path: path.clone(),
            reason: format!(
                "line {} is no block: {}; keep the lines before it, delete the rest, and resume again",
                bad.line, bad.reason
            ),
        })?;
        blocks
            .set_len(saved.whole_bytes as u64)
            .map_err(at(&path))?;
        blocks.sync_data().map_err(at(&path))?;
        Ok((
            Self {
                folder: folder.to_owned(),
                blocks,
            },
            run,
            saved.records,
        ))
    }

    /// Appends one block and waits until it is on disk.
    ///
    /// # Errors
    /// Above all a full disk. What was saved before stays whole.
    pub fn append<R: Serialize>(&mut self, block: &BlockRecord<R>) -> Result<(), StoreError> {
        let path = self.folder.join(BLOCKS_FILE);
        let line = to_text(block, &path)? + "\n";
        self.blocks.write_all(line.as_bytes()).map_err(at(&path))?;
        self.blocks.sync_data().map_err(at(&path))?;
        // A file without a name vanishes when this process ends, and the run with it.
        if self.blocks.metadata().map_err(at(&path))?.nlink() == 0 {
            return Err(StoreError::Removed { path });
        }
        Ok(())
    }

    /// Replaces the description of the run, once more of it is settled.
    ///
    /// # Errors
    /// If the folder cannot be written; the old description then stays.
    pub fn describe_again<S: Serialize, A: Serialize>(
        &self,
        run: &RunRecord<S, A>,
    ) -> Result<(), StoreError> {
        let text = to_text(run, &self.folder.join(RUN_FILE))?;
        self.write_whole(RUN_FILE, text.as_bytes())
    }

    /// Writes a file of the folder so that it is either whole or absent.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn write_whole(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        let written = foreign::file::replace(&path, bytes);
        let synced = written.and_then(|()| File::open(&self.folder)?.sync_all());
        synced.map_err(at(&path))
    }

    /// Path of the run folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Appends a record of what the run's link carried, and waits until it is on disk.
///
/// # Errors
/// If the folder cannot be written.
pub fn append_link(folder: &Path, record: &LinkRecord) -> Result<(), StoreError> {
    let path = folder.join(LINK_FILE);
    let mut file = foreign::file::append(&path).map_err(at(&path))?;
    let line = to_text(record, &path)? + "\n";
    file.write_all(line.as_bytes()).map_err(at(&path))?;
    file.sync_data().map_err(at(&path))
}

/// A folder that is reserved until the run is described or given up. Dropping it leaves the disk as
/// it was.
#[derive(Debug)]
pub struct ClaimedFolder {
    store: Store,
    made: Made,
}

impl ClaimedFolder {
    /// Describes the run; from then on the folder stays.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn describe<S: Serialize, A: Serialize>(
        self,
        run: &RunRecord<S, A>,
    ) -> Result<Store, StoreError> {
        let Self { store, made } = self;
        store.describe_again(run)?;
        made.keep().map_err(at(&store.folder))?;
        Ok(store)
    }
}

/// Where the blocks of a run are saved.
#[derive(Default)]
pub enum KeptIn {
    /// Nowhere, because nobody asked for a folder.
    #[default]
    Nowhere,
    /// In a folder that is described once it is known that there is something to measure.
    Claimed(ClaimedFolder),
    /// In the folder of a run that has already begun.
    Open(Store),
}

impl KeptIn {
    /// Describes the run in a folder that was only claimed. Returns the open folder, if there is
    /// one.
    ///
    /// # Errors
    /// If its folder cannot be written.
    pub fn opened<S: Serialize, A: Serialize>(
        self,
        run: &RunRecord<S, A>,
    ) -> Result<Option<Store>, StoreError> {
        match self {
            Self::Nowhere => Ok(None),
            Self::Claimed(claim) => claim.describe(run).map(Some),
            Self::Open(store) => Ok(Some(store)),
        }
    }
}

/// The folders and the file that were made for a run, outermost folder first. Dropping it removes
/// them again.
#[derive(Debug, Default)]
struct Made {
    folders: Vec<PathBuf>,
    file: Option<PathBuf>,
}

impl Made {
    /// Makes a folder and those of its parents that are missing.
    fn folders(folder: &Path) -> io::Result<Self> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing = folder.ancestors().take_while(is_missing);
        let mut made = Self {
            folders: missing.map(Path::to_owned).collect(),
            file: None,
        };
        made.folders.reverse();
        fs::create_dir_all(folder)?;
        Ok(made)
    }

    /// Adds a file to be removed, unless it exists already.
    fn with_file(mut self, path: &Path) -> Self {
        self.file = (!path.exists()).then(|| path.to_owned());
        self
    }

    /// Leaves everything in place, even after a power cut: a folder is on disk once its parent is
    /// synced.
    fn keep(mut self) -> io::Result<()> {
        self.file = None;
        for folder in std::mem::take(&mut self.folders) {
            let around = folder.parent().filter(|path| !path.as_os_str().is_empty());
            File::open(around.unwrap_or_else(|| Path::new(".")))?.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = fs::remove_file(file);
        }
        // A folder into which somebody has put something in the meantime stays.
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn taken(folder: &Path) -> StoreError {
    StoreError::Taken {
        path: folder.to_owned(),
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full { path, source }
        }
        _ => StoreError::File { path, source },
    }
}

fn refused(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| match at(&path)(source) {
        StoreError::File { path, source } => StoreError::Refused { path, source },
        other => other,
    }
}

fn to_text<T: serde::Serialize>(value: &T, path: &Path) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| at(path)(error.into()))
}

/// Opens the file of blocks for us alone; the lock ends with the process.
fn open_blocks(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(BLOCKS_FILE);
    let file = foreign::file::append(&path).map_err(refused(folder))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(StoreError::File { path, source }),
    }
}

fn read_run<S, A>(folder: &Path) -> Result<RunRecord<S, A>, StoreError>
where
    RunRecord<S, A>: Saved,
{
    let path = folder.join(RUN_FILE);
    let unreadable = |path: &Path, reason: String| StoreError::Unreadable {
        path: path.to_owned(),
        reason,
    };
    let text = match foreign::file::read_text(&path, MOST_RUN_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let reason = format!("there is no {RUN_FILE} in it; give the folder of a run");
            return Err(unreadable(folder, reason));
        }
        Err(error) => return Err(at(&path)(error)),
    };
    RunRecord::parse(&text).map_err(|bad| unreadable(&path, bad.to_string()))
}
