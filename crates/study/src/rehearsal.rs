//! A few short blocks of identical arms before the first that counts: they warm the servers and
//! tell how small an effect the plan will be able to see.

use model::Reading;

/// Pairs of baseline and control in a rehearsal.
pub const PAIRS: u32 = 6;
/// Scored length of its blocks; short blocks are noisier, so the outlook errs to the cautious.
pub const SCORE_MS: u32 = 200;

/// Natural logarithm of control ÷ baseline for each pair: of CPU per request where both tell it,
/// else of throughput.
#[must_use]
pub fn differences(pairs: &[(Reading, Reading)]) -> Vec<f64> {
    let cpu = pairs
        .iter()
        .map(|(a, b)| Some((b.server_cpu_us_per_request()? / a.server_cpu_us_per_request()?).ln()));
    let rate = pairs
        .iter()
        .map(|(a, b)| (b.throughput_rps() / a.throughput_rps()).ln());
    let differences = cpu
        .collect::<Option<Vec<f64>>>()
        .unwrap_or_else(|| rate.collect());
    differences
        .into_iter()
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
    fn a_block_without_answers_is_no_difference() {
        assert!(differences(&[(reading(0, None), reading(400, None))]).is_empty());
    }
}
