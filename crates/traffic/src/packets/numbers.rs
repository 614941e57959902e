//! What the numbers of packets tell at their receiver: which came late, and which twice.

use serde::{Deserialize, Serialize};

/// Packets back from the newest of which it is known whether they came: a second's at a high rate would be
/// more, but what is so late was lost for whoever waited.
const REMEMBERED: u64 = 1 << 16;
const BITS: u64 = u64::BITS as u64;

/// Counts of what came otherwise than it was sent.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Disorder {
    /// Those that came after one with a larger number, and had not come before.
    pub late: u64,
    /// Those that came once more.
    pub twice: u64,
}

/// The numbers that came.
pub(super) struct Numbers {
    /// Of the newest, a bit each.
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

    /// Takes one.
    #[inline]
    pub(super) fn note(&mut self, number: u64, disorder: &mut Disorder) {
        if number >= self.next {
            // All of them are forgotten at once where a number has jumped so far.
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
        // What is longer ago than is remembered can only be late.
        assert_eq!(after(&[0, REMEMBERED, 0]), [1, 0]);
        assert_eq!(after(&[0, REMEMBERED - 1, 0]), [0, 1]);
        // A number that nobody sent takes no time.
        assert_eq!(after(&[0, u64::MAX, 5, u64::MAX - 1]), [2, 0]);
    }
}
