//! A part of a file that follows the head of an answer.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;

use model::named;
use serde::Serialize;

named! {
    /// How the bytes of a file get from the page cache into a socket in the clear.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    pub enum FileWay, "way of files" {
        /// sendfile(2), without a copy.
        #[default]
        Sendfile = "sendfile",
        /// Mapped into memory, and copied from there.
        Copy = "copy",
    }
}

/// A part of a file that is sent from the page cache.
#[derive(Debug)]
pub struct FilePart {
    pub(crate) file: File,
    pub(crate) offset: u64,
    /// Bytes left to send, at least one.
    pub(super) bytes: u64,
    pub(crate) way: FileWay,
    content: FileContent,
    /// Some of it was sent.
    is_begun: bool,
}

impl FilePart {
    /// A part given by its offset and its length (at least one byte) of the file that `metadata`
    /// describes.
    pub fn new(file: File, metadata: &Metadata, (offset, bytes): (u64, u64)) -> Self {
        Self {
            file,
            offset,
            bytes,
            way: FileWay::default(),
            content: FileContent::of(metadata),
            is_begun: false,
        }
    }

    /// This part, to be sent in another way.
    #[must_use]
    pub fn by(self, way: FileWay) -> Self {
        Self { way, ..self }
    }

    pub(super) fn advance(&mut self, sent: u64) {
        self.is_begun |= sent > 0;
        self.offset += sent;
        self.bytes = self.bytes.saturating_sub(sent);
    }

    /// Checks before the end that the content is still the one that was begun with. If not, the
    /// missing rest tells the peer. Not seen are writes during the last turn, or to bytes that the
    /// kernel still holds for the peer: files are to be replaced by rename(2), not overwritten.
    pub(super) fn see_unchanged(&self) -> io::Result<()> {
        if !self.is_begun || FileContent::of(&self.file.metadata()?) == self.content {
            return Ok(());
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// What distinguishes one content of a file from another. The time of the last status change
/// (ctime) does not: it also moves when another file takes the name.
#[derive(Debug, PartialEq, Eq)]
struct FileContent {
    modified: (i64, i64),
    bytes: u64,
}

impl FileContent {
    fn of(metadata: &Metadata) -> Self {
        Self {
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            bytes: metadata.size(),
        }
    }
}
