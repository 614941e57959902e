//! The limits of a listener for all of its clients together: a client beyond them is told to come
//! later.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most tests at once.
const MOST_TESTS: u32 = 64;
/// Most streams of all tests together.
const MOST_STREAMS: usize = 1_024;
/// Most bytes of our own memory that the workers of all tests hold.
const MOST_BYTES: u64 = 512 << 20;

/// The part of a [`Room`] that is taken.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    tests: u32,
    streams: usize,
    bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct Room(Mutex<Taken>);

/// The part of a [`Room`] that one test has, until it is dropped.
#[derive(Debug)]
pub(super) struct TestRoom<'a> {
    room: &'a Room,
    streams: usize,
    bytes: u64,
}

impl Room {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for one more test; `None` if there is no place.
    pub(super) fn test(&self) -> Option<TestRoom<'_>> {
        let mut taken = self.taken();
        let fits = taken.tests < MOST_TESTS;
        taken.tests += u32::from(fits);
        drop(taken);
        // Made only if it fits: each `TestRoom` gives its place back when it is dropped.
        fits.then(|| TestRoom {
            room: self,
            streams: 0,
            bytes: 0,
        })
    }
}

impl TestRoom<'_> {
    /// Takes room for the streams of the test; returns whether there was enough.
    pub(super) fn take(&mut self, streams: usize, bytes: u64) -> bool {
        let mut taken = self.room.taken();
        let fits = taken.streams + streams <= MOST_STREAMS && taken.bytes + bytes <= MOST_BYTES;
        if fits {
            taken.streams += streams;
            taken.bytes += bytes;
            self.streams += streams;
            self.bytes += bytes;
        }
        fits
    }

    /// Number of tests under way.
    pub(super) fn tests(&self) -> u32 {
        self.room.taken().tests
    }
}

impl Drop for TestRoom<'_> {
    fn drop(&mut self) {
        let mut taken = self.room.taken();
        taken.tests -= 1;
        taken.streams -= self.streams;
        taken.bytes -= self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_gives_back_another_has() {
        let room = Room::default();
        let mut all: Vec<TestRoom<'_>> = std::iter::from_fn(|| room.test()).collect();
        assert_eq!(all.len(), MOST_TESTS as usize);
        assert!(all[0].take(MOST_STREAMS, MOST_BYTES) && all[1].take(0, 0));
        assert!(!all[1].take(1, 0) && !all[1].take(0, 1));
        drop(all.swap_remove(0));
        assert!(all[0].take(MOST_STREAMS, 0) && room.test().is_some());
        all.extend(room.test());
        assert!(room.test().is_none());
        all.clear();
        all.extend(std::iter::from_fn(|| room.test()));
        assert_eq!(all.len(), MOST_TESTS as usize);
    }
}
