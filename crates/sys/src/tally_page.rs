//! Counters that one process increases and another reads: they outlive the process that counts.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{SealFlags, fcntl_add_seals};

use crate::mapping::Mapping;
use crate::{descriptor, memory_file};

/// How many numbers a page holds.
pub const NUMBERS: usize = 16;
const BYTES: usize = NUMBERS * size_of::<AtomicU64>();
/// The length is sealed, so that no reader is sent beyond the end.
const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

/// A page of numbers, all 0 at first, shared by every process that has its descriptor.
#[derive(Debug)]
pub struct TallyPage {
    file: OwnedFd,
    numbers: Mapping,
}

// SAFETY: what is reached through the pointer is atomic and stays mapped as long as the page lives.
unsafe impl Send for TallyPage {}
// SAFETY: as above.
unsafe impl Sync for TallyPage {}

impl TallyPage {
    /// Makes a page.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files, `ENOMEM`.
    pub fn new() -> io::Result<Self> {
        let file = memory_file::sealable(c"linerate-counts")?;
        file.set_len(BYTES as u64)?;
        fcntl_add_seals(&file, SEALS)?;
        Self::of(file.into())
    }

    /// Takes over a page that was handed to this program under this descriptor number. To be called
    /// once for a number.
    ///
    /// # Errors
    /// `InvalidData` where the descriptor is not such a page, `ENOMEM`.
    pub fn take(number: u32) -> io::Result<Self> {
        let file = File::from(descriptor::take(number, SEALS)?);
        if file.metadata()?.len() < BYTES as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Self::of(file.into())
    }

    fn of(file: OwnedFd) -> io::Result<Self> {
        let numbers = Mapping::writable(Some(file.as_fd()), BYTES)?;
        Ok(Self { file, numbers })
    }

    /// Adds `count` to the number at `place`.
    pub fn add(&self, place: usize, count: u64) {
        if let Some(number) = self.numbers().get(place) {
            number.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// The numbers now; each is read by itself.
    pub fn read(&self) -> [u64; NUMBERS] {
        let numbers = self.numbers();
        std::array::from_fn(|place| numbers[place].load(Ordering::Relaxed))
    }

    fn numbers(&self) -> &[AtomicU64; NUMBERS] {
        // SAFETY: the mapping is aligned to a page, as long as the array, and lives as long as `self`;
        // whatever bytes another process writes are valid numbers.
        unsafe { self.numbers.start().cast().as_ref() }
    }
}

impl AsFd for TallyPage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::IntoRawFd as _;

    use super::*;

    #[test]
    fn what_one_holder_counts_another_reads_after_its_end() {
        let page = TallyPage::new().unwrap();
        let copy = page.as_fd().try_clone_to_owned().unwrap().into_raw_fd();
        let other = TallyPage::take(u32::try_from(copy).unwrap()).unwrap();
        page.add(3, 2);
        other.add(3, 5);
        other.add(NUMBERS, 1);
        drop(other);
        assert_eq!(page.read()[3], 7);
        assert_eq!(page.read().iter().sum::<u64>(), 7);
        let error = TallyPage::take(u32::MAX).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
