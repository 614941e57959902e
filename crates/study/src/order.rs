//! The random order of arms, the same for the same seed.

/// A small generator of uniform numbers (`SplitMix64`, Steele, Lea and Flood 2014): enough to
/// shuffle, and the same everywhere for ever.
#[derive(Clone, Debug)]
pub struct Shuffler {
    state: u64,
}

impl Shuffler {
    /// Starts from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; the bias of the multiplication is below 2⁻⁵⁰ for any bound here.
    fn below(&mut self, bound: usize) -> usize {
        let wide = u128::from(self.next()) * bound as u128;
        (wide >> 64) as usize
    }

    /// Puts the items into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// The order of `arms` arms in each of `rounds` rounds, as indices. A round's order depends only
/// on the seed and the round, so a resumed run goes on with the order that was planned.
#[must_use]
pub fn rounds(arms: usize, rounds: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut shuffler = Shuffler::new(seed);
    let mut round = || {
        let mut order: Vec<usize> = (0..arms).collect();
        shuffler.shuffle(&mut order);
        order
    };
    (0..rounds).map(|_| round()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arm_stands_once_in_every_round() {
        for mut order in rounds(7, 40, 3) {
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4, 5, 6]);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_order_and_another_seed_another() {
        assert_eq!(rounds(5, 9, 7), rounds(5, 9, 7));
        assert_ne!(rounds(5, 9, 7), rounds(5, 9, 8));
        assert_eq!(
            rounds(5, 9, 7),
            rounds(5, 30, 7)[..9],
            "more rounds only add"
        );
    }

    #[test]
    fn each_arm_comes_first_about_equally_often() {
        let mut first = [0_u32; 4];
        for order in rounds(4, 4000, 1) {
            first[order[0]] += 1;
        }
        assert!(
            first.iter().all(|count| (850..1150).contains(count)),
            "{first:?}"
        );
    }
}
