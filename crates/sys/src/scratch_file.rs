//! A file without a name: nobody else can open it, and it is gone when this process ends, however
//! that happens.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Makes an empty file without a name in a folder (`O_TMPFILE`, open(2)).
///
/// # Errors
/// `EOPNOTSUPP` or `EISDIR` where the file system has no such files, `EACCES`, `EROFS`, `ENOENT`.
pub fn unnamed(folder: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    options.custom_flags(libc::O_TMPFILE).open(folder)
}

/// Opens the file again, to read and write past the page cache (`O_DIRECT`): in whole blocks, from
/// and to memory that is aligned to a block, such as [`Blocks`].
///
/// # Errors
/// `EINVAL` where the file system cannot do that.
pub fn past_cache(file: &File) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true);
    options.custom_flags(libc::O_DIRECT);
    // It is opened by its descriptor, since it has no name.
    options.open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Memory that is aligned to a block of any disk.
#[derive(Debug)]
pub struct Blocks {
    bytes: Vec<u8>,
    first: usize,
}

/// Disks have blocks of 512 or 4,096 bytes; this is a multiple of both.
const BLOCK: usize = 4096;

impl Blocks {
    /// Makes so many bytes, all with the value `byte`.
    pub fn of(bytes: usize, byte: u8) -> Self {
        let bytes = vec![byte; bytes + BLOCK];
        let first = bytes.as_ptr().align_offset(BLOCK).min(BLOCK);
        Self { bytes, first }
    }

    /// All bytes of this memory.
    pub fn bytes(&mut self) -> &mut [u8] {
        let last = self.bytes.len() - BLOCK;
        &mut self.bytes[self.first..][..last]
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    use super::*;

    #[test]
    fn a_file_without_a_name_holds_what_is_written_and_stands_in_no_folder() {
        let folder = std::env::temp_dir();
        let file = unnamed(&folder).unwrap();
        file.write_all_at(b"here", 4096).unwrap();
        let mut found = [0; 4];
        file.read_exact_at(&mut found, 4096).unwrap();
        assert_eq!((&found, file.metadata().unwrap().nlink()), (b"here", 0));
        let mut blocks = Blocks::of(8192, 7);
        assert_eq!(blocks.bytes().len(), 8192);
        assert_eq!(blocks.bytes().as_ptr().align_offset(BLOCK), 0);
    }
}
