//! The proof: whoever is accused is hindered for alternate moments, and the answers must become fewer by as much.

use model::explanation::{Hindered, Hindrance};

use crate::{count, signed_rank};

/// Two-sided error of the interval.
const ALPHA: f64 = 0.05;
/// What is surely more than this part of what was taken is a limit, and what is surely less is none.
const ENOUGH: f64 = 0.3;

/// What pairs of moments say, each as answers a second without and with the hindrance, of which `taken` is the share
/// of time that was taken from the accused. `None` of too few.
pub(super) fn hindered(what: Hindrance, taken: f64, pairs: &[(f64, f64)]) -> Option<Hindered> {
    let ratios = pairs
        .iter()
        .filter(|(without, with)| *without > 0.0 && *with > 0.0);
    let logs: Vec<f64> = ratios
        .map(|(without, with)| (with / without).ln())
        .collect();
    let effect = signed_rank::effect(&logs, ALPHA)?;
    let [low, high] = [effect.low, effect.high];
    // As many answers fewer as time was taken, where nothing else is in the way.
    let line = (1.0 - taken).powf(ENOUGH);
    let moved = match () {
        () if high < line => Some(true),
        () if low > line => Some(false),
        () => None,
    };
    Some(Hindered {
        what,
        taken,
        ratio: effect.ratio,
        low,
        high,
        pairs: count(logs.len()),
        moved,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(with: impl Fn(usize) -> f64) -> Option<bool> {
        let pairs: Vec<_> = (0..12)
            .map(|n| (100.0 + n as f64, with(n) * (100.0 + n as f64)))
            .collect();
        hindered(Hindrance::ServerCpus, 0.1, &pairs).unwrap().moved
    }

    #[test]
    fn a_limit_moves_by_what_was_taken_and_what_is_none_does_not_move() {
        let noise = |n: usize| 0.01 * (n % 3) as f64;
        assert_eq!(told(|n| 0.89 + noise(n)), Some(true));
        assert_eq!(told(|n| 0.995 + noise(n)), Some(false));
        assert_eq!(told(|n| 0.8 + 0.04 * (n % 9) as f64), None);
        assert_eq!(hindered(Hindrance::ServerCpus, 0.1, &[]), None);
    }
}
