//! Judges packets by their numbers at the receiver: which came late, and which came twice.

use serde::{Deserialize, Serialize};

/// How far back from the newest number we know whether a packet came. At a high rate, a second has
/// more packets, but one that is so late was lost for anyone who waited for it.
const REMEMBERED: u64 = 1 << 16;
const BITS: u64 = u64::BITS as u64;

/// Counts of packets that came otherwise than they were sent.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Disorder {
    /// Packets that came after one with a larger number, and had not come before.
    pub late: u64,
    /// Packets that came again.
    pub twice: u64,
}

/// The numbers of the packets that came.
pub(super) struct Numbers {
    /// One bit for each of the newest numbers: whether it came.
    came: Box<[u64]>,
    next: u64,
}

impl Numbers {
    pub(super) fn new() -> Self {
        Self {
            came: vec![0; (REMEMBERED / BITS) as usize].into_boxed_slice(),
            next: 0,
        }
    }

    /// Notes a packet that came.
    #[inline]
    pub(super) fn note(&mut self, number: u64, disorder: &mut Disorder) {
        if number >= self.next {
            // Where a number jumps further than is remembered, each bit is cleared only once.
            let first = self.next.max(number.saturating_sub(REMEMBERED - 1));
            (first..number).for_each(|missing| self.set(missing, false));
            self.set(number, true);
            self.next = number.saturating_add(1);
        } else if self.next - number <= REMEMBERED && self.has(number) {
            disorder.twice += 1;
        } else {
            disorder.late += 1;
            if self.next - number <= REMEMBERED {
                self.set(number, true);
            }
        }
    }

    fn place(number: u64) -> (usize, u64) {
        let at = number % REMEMBERED;
        ((at / BITS) as usize, 1 << (at % BITS))
    }

    fn has(&self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        self.came[word] & bit != 0
    }

    fn set(&mut self, number: u64, came: bool) {
        let (word, bit) = Self::place(number);
        match came {
            true => self.came[word] |= bit,
            false => self.came[word] &= !bit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(numbers: &[u64]) -> [u64; 2] {
        let (mut seen, mut disorder) = (Numbers::new(), Disorder::default());
        for number in numbers {
            seen.note(*number, &mut disorder);
        }
        [disorder.late, disorder.twice]
    }

    #[test]
    fn one_that_comes_late_is_told_from_one_that_comes_twice() {
        assert_eq!(after(&[0, 1, 2, 3]), [0, 0]);
        assert_eq!(after(&[0, 2, 1, 3]), [1, 0]);
        assert_eq!(after(&[0, 2, 2, 1, 1, 0]), [1, 3]);
        // A packet from further back than is remembered can only be late.
        assert_eq!(after(&[0, REMEMBERED, 0]), [1, 0]);
        assert_eq!(after(&[0, REMEMBERED - 1, 0]), [0, 1]);
        // A jump to a huge number that nobody sent does not cause a long loop.
        assert_eq!(after(&[0, u64::MAX, 5, u64::MAX - 1]), [2, 0]);
    }
}
