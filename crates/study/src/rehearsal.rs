//! A few short blocks of identical arms before the first block that counts. They warm the servers,
//! and show how small an effect can be seen.

use model::Reading;

use crate::arms::{BASELINE, CONTROL};

/// Pairs of baseline and control before a run.
pub const PAIRS: u32 = 6;
/// Length of the scored window of their blocks, ms. Short blocks are noisier, so the outlook errs
/// on the side of caution.
pub const SCORE_MS: u32 = 200;

/// Readings of baseline and control in two consecutive blocks.
pub type Pair = (Reading, Reading);

/// Measures `count` pairs; `block` measures one arm by its name.
///
/// # Errors
/// The first error of `block`.
pub fn pairs<R, E>(
    count: u32,
    mut block: impl FnMut(&str) -> Result<R, E>,
) -> Result<Vec<(R, R)>, E> {
    // The arms take turns in going first, so that drift affects both.
    let pair = |number: u32| {
        if number.is_multiple_of(2) {
            let baseline = block(BASELINE)?;
            Ok((baseline, block(CONTROL)?))
        } else {
            let control = block(CONTROL)?;
            Ok((block(BASELINE)?, control))
        }
    };
    (0..count).map(pair).collect()
}

/// Natural logarithm of control ÷ baseline for each pair: of CPU per request if all pairs have it,
/// otherwise of throughput.
pub fn differences(pairs: &[Pair]) -> Vec<f64> {
    let has_cpu = |(baseline, control): &Pair| {
        let cpu = Reading::server_cpu_us_per_request;
        cpu(baseline).is_some() && cpu(control).is_some()
    };
    if pairs.iter().all(has_cpu) {
        differences_of(pairs, Reading::server_cpu_us_per_request)
    } else {
        differences_of(pairs, |reading| Some(reading.throughput_rps()))
    }
}

/// Natural logarithm of control ÷ baseline of one value, for each pair in which both have it.
pub fn differences_of<R>(pairs: &[(R, R)], value: impl Fn(&R) -> Option<f64>) -> Vec<f64> {
    let difference = |(baseline, control): &(R, R)| Some((value(control)? / value(baseline)?).ln());
    let differences = pairs.iter().filter_map(difference);
    differences
        .filter(|difference| difference.is_finite())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::CpuReading;

    fn reading(answered: u64, server_ns: Option<u64>) -> Reading {
        let cpu = CpuReading {
            server_ns,
            ..CpuReading::default()
        };
        Reading {
            window_ns: 1_000_000_000,
            answered,
            cpu,
            ..Reading::default()
        }
    }

    #[test]
    fn cpu_per_request_is_compared_where_it_is_known_and_throughput_elsewhere() {
        let known = [(reading(100, Some(1000)), reading(100, Some(2000)))];
        assert!((differences(&known)[0] - 2.0_f64.ln()).abs() < 1e-12);
        let hidden = [(reading(100, None), reading(400, None))];
        assert!((differences(&hidden)[0] - 4.0_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn the_two_arms_take_turns_in_going_first() {
        let mut order = Vec::new();
        let measured = pairs(2, |arm| {
            order.push(arm.to_owned());
            Ok::<_, ()>(reading(order.len() as u64, None))
        });
        assert_eq!(order, [BASELINE, CONTROL, CONTROL, BASELINE]);
        let answered: Vec<_> = measured
            .unwrap()
            .iter()
            .map(|(a, b)| (a.answered, b.answered))
            .collect();
        assert_eq!(answered, [(1, 2), (4, 3)]);
    }

    #[test]
    fn a_block_without_answers_is_no_difference() {
        assert!(differences(&[(reading(0, None), reading(400, None))]).is_empty());
    }
}
