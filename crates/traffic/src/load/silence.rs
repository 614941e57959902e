//! Judges by the answers of each tick whether a server fell silent before the end of a block.

use super::TICK_NS;

/// A shorter silence is normal on a busy machine, ticks.
const FEWEST_TICKS: usize = 5;
/// Answers that should have come during the silence at the earlier pace, so that it is not by
/// chance that none did.
const FEWEST_DUE: f64 = 20.0;
/// The silence must be longer than this many times any before it: a slow server answers together
/// what came together.
const TIMES_AS_LONG: usize = 2;

/// Returns how long nothing was answered at the end of a block, ns; `None` where a healthy server
/// may be silent for so long, or where nothing was answered at all.
pub(super) fn at_the_end_ns(answers: &[u64]) -> Option<u64> {
    let last = answers.iter().rposition(|count| *count > 0)?;
    let (before, silent) = answers.split_at(last + 1);
    let pauses = before.split(|count| *count > 0).map(<[u64]>::len);
    let longest = pauses.max().unwrap_or(0);
    let answered: u64 = before.iter().sum();
    let due = answered as f64 / before.len() as f64 * silent.len() as f64;
    let is_long = silent.len() >= FEWEST_TICKS && silent.len() > TIMES_AS_LONG * longest;
    (is_long && due >= FEWEST_DUE).then_some(silent.len() as u64 * TICK_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges these answers by tick, followed by `ticks` ticks without any.
    fn silent_for(ticks: usize, answers: &[u64]) -> Option<u64> {
        at_the_end_ns(&[answers, &vec![0; ticks]].concat())
    }

    #[test]
    fn a_server_that_is_gone_is_silent_to_the_end() {
        assert_eq!(silent_for(18, &[900; 12]), Some(18 * TICK_NS));
        assert_eq!(silent_for(4, &[900; 12]), None);
        assert_eq!(silent_for(0, &[900; 12]), None);
        assert_eq!(silent_for(30, &[]), None);
    }

    #[test]
    fn a_slow_server_that_answers_all_at_once_is_silent_as_long_at_any_time() {
        let after_a_second: Vec<u64> = [&[0_u64; 9][..], &[64]].concat();
        assert_eq!(silent_for(9, &after_a_second), None);
        assert_eq!(silent_for(18, &after_a_second), None);
        assert_eq!(silent_for(19, &after_a_second), Some(19 * TICK_NS));
    }

    #[test]
    fn where_few_answers_are_due_none_may_come_by_chance() {
        assert_eq!(silent_for(15, &[1; 12]), None);
        assert_eq!(silent_for(20, &[1; 12]), Some(20 * TICK_NS));
    }
}
