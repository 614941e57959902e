//! A file that is written line by line and is named in the errors of writing.

use std::fs::File;
use std::io::{self, LineWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// A file into which each line is written as soon as it is whole, so that another program can
/// follow it.
pub(super) struct NamedFile {
    lines: LineWriter<File>,
    path: PathBuf,
}

impl NamedFile {
    /// Creates an empty file, in place of one that was there.
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path);
        let file = file.with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(Self {
            lines: LineWriter::new(file),
            path: path.to_owned(),
        })
    }

    fn named<T>(&self, written: io::Result<T>) -> io::Result<T> {
        written.map_err(|error| {
            io::Error::new(error.kind(), format!("`{}`: {error}", self.path.display()))
        })
    }
}

impl Write for NamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.lines.write(bytes);
        self.named(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.lines.flush();
        self.named(flushed)
    }
}
