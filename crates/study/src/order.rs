//! The random order of arms, which is the same for the same seed.

use model::random::SplitMix64;

/// Returns the order of `arms` arms in each of `rounds` rounds, as indices. A round's order depends
/// only on the seed and the round, so a resumed run continues in the planned order.
pub(crate) fn rounds(arms: usize, rounds: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut random = SplitMix64::new(seed);
    let mut round = || {
        let mut order: Vec<usize> = (0..arms).collect();
        random.shuffle(&mut order);
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
