//! The proof: whatever is accused is hindered, or gets more to do, in alternate periods; then the
//! answers must become fewer or more by as much, or must not.

use model::explanation::{Hindered, Trial};

use crate::{count, signed_rank};

/// Two-sided error of the interval.
const ALPHA: f64 = 0.05;
/// Answers that surely changed by more than this part of the change have followed it; those that
/// surely changed by less have not.
const ENOUGH: f64 = 0.3;

/// Judges a trial. `follows` says whether answers must follow the change (true), must not (false)
/// or may do either (`None`). Returns `None` for too few pairs.
pub(super) fn hindered(trial: &Trial, follows: Option<bool>) -> Option<Hindered> {
    let ratios = trial
        .pairs
        .iter()
        .filter(|(without, with)| *without > 0.0 && *with > 0.0);
    let logs: Vec<f64> = ratios
        .map(|(without, with)| (with / without).ln())
        .collect();
    let effect = signed_rank::effect(&logs, ALPHA)?;
    let [low, high] = [effect.low, effect.high];
    let followed = followed(trial.change, [low, high]);
    Some(Hindered {
        what: trial.whom.clone(),
        change: trial.change,
        ratio: effect.ratio,
        low,
        high,
        pairs: count(logs.len()),
        followed,
        borne_out: match follows {
            Some(follows) => followed.map(|followed| followed == follows),
            None => followed.filter(|followed| *followed),
        },
    })
}

/// Whether answers changed by about as much as the resource, as they do where nothing else is in
/// the way; `None` where the interval decides neither.
fn followed(change: f64, [low, high]: [f64; 2]) -> Option<bool> {
    let line = (1.0 + change).max(0.0).powf(ENOUGH);
    let (below, above) = (high < line, low > line);
    let (beyond, short) = match change < 0.0 {
        true => (below, above),
        false => (above, below),
    };
    (beyond || short).then_some(beyond)
}

#[cfg(test)]
mod tests {
    use model::explanation::Hindrance;

    use super::*;

    fn told(change: f64, follows: Option<bool>, with: impl Fn(usize) -> f64) -> Option<bool> {
        let pair = |n: usize| (100.0 + n as f64, with(n) * (100.0 + n as f64));
        let trial = Trial {
            whom: Hindrance::ServerCpus,
            change,
            pairs: (0..12).map(pair).collect(),
        };
        hindered(&trial, follows).unwrap().borne_out
    }

    fn noise(n: usize) -> f64 {
        0.01 * (n % 3) as f64
    }

    #[test]
    fn a_limit_moves_by_what_was_taken_and_what_is_none_does_not_move() {
        let follows = Some(true);
        assert_eq!(told(-0.1, follows, |n| 0.89 + noise(n)), Some(true));
        assert_eq!(told(-0.1, follows, |n| 0.995 + noise(n)), Some(false));
        let wild = |n| 0.8 + 0.04 * (n % 9) as f64;
        assert_eq!(told(-0.1, follows, wild), None);
    }

    #[test]
    fn more_to_do_passes_where_each_waits_for_itself_and_not_where_all_stand_in_a_queue() {
        let more = |n| 1.45 + noise(n);
        let as_many = |n| 0.99 + noise(n);
        let table = [
            (Some(true), Some(true), Some(false)),
            (Some(false), Some(false), Some(true)),
            // Where either may be, more answers alone prove it.
            (None, Some(true), None),
        ];
        for (follows, of_more, of_as_many) in table {
            assert_eq!(told(0.5, follows, more), of_more, "{follows:?}");
            assert_eq!(told(0.5, follows, as_many), of_as_many, "{follows:?}");
        }
    }

    #[test]
    fn too_few_pairs_say_nothing_and_an_absurd_change_is_borne() {
        let trial = |change, pairs| Trial {
            whom: Hindrance::Connections,
            change,
            pairs,
        };
        assert_eq!(hindered(&trial(0.5, Vec::new()), None), None);
        let absurd = hindered(&trial(-9.0, vec![(1.0, 1.0); 12]), None).unwrap();
        assert_eq!(absurd.followed, Some(false));
    }
}
