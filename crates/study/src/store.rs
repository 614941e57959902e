//! The run folder while a run goes on: one line appended and synced after each block, so that a
//! crash loses at most the block that was being measured.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use model::run::{BLOCKS_FILE, Blocks, RUN_FILE, RUN_FORMAT};
use model::{BlockRecord, RunRecord};

/// Why a run folder could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{path} holds a run already; `linerate study resume {path}` goes on with it")]
    Taken { path: PathBuf },
    #[error("{path} is being written by another Linerate")]
    InUse { path: PathBuf },
    #[error("{path} is no run that can be resumed: {reason}")]
    Unreadable { path: PathBuf, reason: String },
}

/// An open run folder.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    blocks: File,
}

impl Store {
    /// Makes the folder and describes the run in it.
    ///
    /// # Errors
    /// When the folder holds a run already or cannot be written.
    pub fn create(folder: &Path, run: &RunRecord) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let path = folder.join(RUN_FILE);
        if path.exists() {
            return Err(StoreError::Taken {
                path: folder.to_owned(),
            });
        }
        let store = Self {
            folder: folder.to_owned(),
            blocks: open_blocks(folder)?,
        };
        store.write_whole(RUN_FILE, to_text(run, &path)?.as_bytes())?;
        Ok(store)
    }

    /// Opens the folder of a run that was stopped, and takes what a crash left half written off
    /// its end.
    ///
    /// # Errors
    /// When there is no run, it is of another format, or another process writes it.
    pub fn resume(folder: &Path) -> Result<(Self, RunRecord, Vec<BlockRecord>), StoreError> {
        let run = read_run(folder)?;
        let path = folder.join(BLOCKS_FILE);
        let blocks = open_blocks(folder)?;
        let text = fs::read_to_string(&path).map_err(at(&path))?;
        let saved = Blocks::parse(&text).map_err(|bad| StoreError::Unreadable {
            path: path.clone(),
            reason: format!("line {}: {}", bad.line, bad.reason),
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

    /// Appends one block and waits until it is on the disk.
    ///
    /// # Errors
    /// A full disk, above all. What was saved before stays whole.
    pub fn append(&mut self, block: &BlockRecord) -> Result<(), StoreError> {
        let path = self.folder.join(BLOCKS_FILE);
        let line = to_text(block, &path)? + "\n";
        self.blocks.write_all(line.as_bytes()).map_err(at(&path))?;
        self.blocks.sync_data().map_err(at(&path))
    }

    /// Writes a file of the folder so that it is either whole or absent.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn write_whole(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        let draft = self.folder.join(format!("{name}.draft"));
        let write = || -> io::Result<()> {
            let mut file = File::create(&draft)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&draft, &path)?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(at(&path))
    }

    /// Where the run is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::File { path, source }
}

fn to_text<T: serde::Serialize>(value: &T, path: &Path) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| at(path)(error.into()))
}

/// Opens the file of blocks for us alone; the lock goes with the process.
fn open_blocks(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(BLOCKS_FILE);
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .map_err(at(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(StoreError::File { path, source }),
    }
}

fn read_run(folder: &Path) -> Result<RunRecord, StoreError> {
    let path = folder.join(RUN_FILE);
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    let unreadable = |reason: String| StoreError::Unreadable {
        path: path.clone(),
        reason,
    };
    let format = serde_json::from_str::<serde_json::Value>(&text)
        .map_err(|error| unreadable(error.to_string()))?
        .get("format")
        .and_then(serde_json::Value::as_u64);
    if format != Some(u64::from(RUN_FORMAT)) {
        let found = format.map_or_else(|| "none".to_owned(), |format| format.to_string());
        return Err(unreadable(format!(
            "its format is {found}, this Linerate writes {RUN_FORMAT}"
        )));
    }
    serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))
}
