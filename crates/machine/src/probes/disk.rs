//! How fast a file of ours is read from the page cache and from its disk, and how long its disk
//! takes for one block.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use model::random::SplitMix64;
use sys::clock;
use sys::scratch_file::{Blocks, past_cache, unnamed};

use super::ProbeError;

/// Size of the file, unless it cannot be written within [`WRITING_NS`], and of the pieces and
/// blocks in which it is read and written.
const FILE_BYTES: u64 = 64 << 20;
const PIECE_BYTES: usize = 1 << 20;
const BLOCK_BYTES: usize = 4096;
const WRITING_NS: u64 = 1_000_000_000;
/// How long each value is measured; at least one piece.
const VALUE_NS: u64 = 8_000_000;

/// A file without a name. It is gone when this is dropped or the process is killed.
#[derive(Debug)]
pub(super) struct Disk {
    cached: File,
    direct: Option<File>,
    piece: Blocks,
    bytes: u64,
    at: u64,
    random: SplitMix64,
}

impl Disk {
    /// Writes the file in a folder.
    pub(super) fn write(folder: &Path) -> Result<Self, ProbeError> {
        let cached = unnamed(folder).map_err(ProbeError::File)?;
        let mut piece = Blocks::of(PIECE_BYTES, 7);
        let until_ns = clock::monotonic_ns() + WRITING_NS;
        let mut bytes = 0;
        while bytes < FILE_BYTES && (clock::monotonic_ns() < until_ns || bytes == 0) {
            // No two blocks are alike, since some disks store equal blocks once.
            let blocks = piece.bytes().chunks_mut(BLOCK_BYTES).enumerate();
            blocks.for_each(|(block, content)| {
                content[..8].copy_from_slice(&(bytes + block as u64).to_ne_bytes());
            });
            cached
                .write_all_at(piece.bytes(), bytes)
                .map_err(ProbeError::File)?;
            bytes += PIECE_BYTES as u64;
        }
        cached.sync_data().map_err(ProbeError::File)?;
        Ok(Self {
            direct: past_cache(&cached).ok(),
            cached,
            piece,
            bytes,
            at: 0,
            random: SplitMix64::new(1),
        })
    }

    /// Bytes per second that are read from the page cache. What was written past the cache is no
    /// longer in it, so the whole file is read once before.
    pub(super) fn cached_bytes_per_second(&mut self) -> Result<f64, ProbeError> {
        let read = |disk: &mut Self, at| disk.cached.read_exact_at(disk.piece.bytes(), at);
        for at in (0..self.bytes).step_by(PIECE_BYTES) {
            read(self, at).map_err(ProbeError::File)?;
        }
        self.rate(read)
    }

    /// Bytes per second that are read past the page cache, in order.
    pub(super) fn read_bytes_per_second(&mut self) -> Result<f64, ProbeError> {
        self.rate(|disk, at| direct(disk.direct.as_ref())?.read_exact_at(disk.piece.bytes(), at))
    }

    /// Bytes per second that are written past the page cache, in order.
    pub(super) fn written_bytes_per_second(&mut self) -> Result<f64, ProbeError> {
        self.rate(|disk, at| direct(disk.direct.as_ref())?.write_all_at(disk.piece.bytes(), at))
    }

    /// Time to read a block of 4 KiB at a random place of the file, past the page cache, one block
    /// at a time, ns.
    pub(super) fn block_ns(&mut self) -> Result<f64, ProbeError> {
        self.each_ns(|disk, at| {
            direct(disk.direct.as_ref())?.read_exact_at(&mut disk.piece.bytes()[..BLOCK_BYTES], at)
        })
    }

    /// Time to write a block and have it on the disk (`fdatasync`), ns.
    pub(super) fn sync_ns(&mut self) -> Result<f64, ProbeError> {
        self.each_ns(|disk, at| {
            disk.cached
                .write_all_at(&disk.piece.bytes()[..BLOCK_BYTES], at)?;
            disk.cached.sync_data()
        })
    }

    fn rate(
        &mut self,
        one: impl Fn(&mut Self, u64) -> std::io::Result<()>,
    ) -> Result<f64, ProbeError> {
        let (pieces, passed_ns) = self.repeated(|disk| {
            let at = disk.at;
            disk.at = (at + PIECE_BYTES as u64) % disk.bytes;
            one(disk, at)
        })?;
        Ok(pieces * PIECE_BYTES as f64 / (passed_ns / 1e9))
    }

    fn each_ns(
        &mut self,
        one: impl Fn(&mut Self, u64) -> std::io::Result<()>,
    ) -> Result<f64, ProbeError> {
        let (blocks, passed_ns) = self.repeated(|disk| {
            let blocks = usize::try_from(disk.bytes).unwrap_or(usize::MAX) / BLOCK_BYTES;
            let at = disk.random.below(blocks) * BLOCK_BYTES;
            one(disk, at as u64)
        })?;
        Ok(passed_ns / blocks)
    }

    /// Repeats the work for the time of a value. Returns how often it was done, and how long that
    /// took, ns.
    fn repeated(
        &mut self,
        mut one: impl FnMut(&mut Self) -> std::io::Result<()>,
    ) -> Result<(f64, f64), ProbeError> {
        let begun_ns = clock::monotonic_ns();
        let (mut times, mut passed_ns) = (0.0, 0);
        while passed_ns < VALUE_NS {
            one(self).map_err(ProbeError::File)?;
            times += 1.0;
            passed_ns = clock::monotonic_ns() - begun_ns;
        }
        Ok((times, passed_ns as f64))
    }
}

fn direct(file: Option<&File>) -> std::io::Result<&File> {
    let cannot =
        || std::io::Error::other("this file system reads and writes through the page cache alone");
    file.ok_or_else(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that this thread has had read from disks.
    fn bytes_from_disks() -> Option<u64> {
        let account = std::fs::read_to_string("/proc/thread-self/io").ok()?;
        crate::tree::behind(&account, "read_bytes:")?.parse().ok()
    }

    #[test]
    fn the_page_cache_holds_what_is_read_from_it_whatever_was_written_past_it() {
        let mut disk = Disk::write(&std::env::temp_dir()).unwrap();
        for at in (0..disk.bytes).step_by(PIECE_BYTES) {
            let Some(direct) = &disk.direct else {
                return;
            };
            direct.write_all_at(disk.piece.bytes(), at).unwrap();
        }
        disk.cached_bytes_per_second().unwrap();
        let before = bytes_from_disks();
        disk.cached_bytes_per_second().unwrap();
        assert_eq!(bytes_from_disks(), before);
    }
}
