//! How small an effect a comparison can see on this machine in a given time. It is extrapolated
//! from a rehearsal of two identical servers to as many pairs as the time has room for.

use model::Reading;
use model::study::{Arm, Program, Role, Study};

use crate::arms::{BASELINE, CONTROL};
use crate::campaign::{Campaign, CampaignError, planned_ms};
use crate::rehearsal::{self, Pair};

/// Pairs of the rehearsal. Together with the look at the machine they take less than ten seconds.
pub const PAIRS: u32 = 14;
/// Durations of a comparison for which the smallest effects are reported.
const BUDGETS_MINUTES: [u32; 3] = [1, 5, 30];
/// Relative standard error of the spread as one pair gives it: 1/√(2 × 0.3675). It follows from the
/// asymptotic efficiency of 0.3675 that the median absolute deviation has for normal differences.
const SPREAD_ERROR: f64 = 1.166;

/// What a rehearsal with two identical servers says about comparisons on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Visible {
    pub pairs: u32,
    /// Standard error of every effect below, as a share of it, since the spread is known no better.
    pub relative_error: f64,
    pub budgets: Vec<Budget>,
}

/// The smallest effects that a comparison of this duration finds with 80 % power at 5 % error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    pub minutes: u32,
    pub rounds: u32,
    /// As a share; `None` where the rehearsal gave too few differences.
    pub cpu_per_request: Option<f64>,
    pub throughput: Option<f64>,
}

impl Campaign<'_> {
    /// Measures one of our servers against itself, and computes what comparisons of `arms` arms by
    /// the design of `study` could see.
    ///
    /// # Errors
    /// [`CampaignError::Refused`] where the machine must not be loaded, and the agent's errors.
    pub fn visible(&mut self, study: &Study, arms: usize) -> Result<Visible, CampaignError> {
        self.meet(false, true)?;
        self.start_targets(&identical_arms(), &study.workload)?;
        self.progress.phase("measuring two identical servers");
        let pairs = self.rehearsal_pairs(study, PAIRS)?;
        Ok(extrapolate(&pairs, |minutes| {
            rounds_in(study, arms, minutes)
        }))
    }
}

fn identical_arms() -> [Arm; 2] {
    let arm = |name, role| Arm::new(name, name, role, Program::Serve);
    [arm(BASELINE, Role::Baseline), arm(CONTROL, Role::Control)]
}

/// Number of whole rounds of a study that fit into `minutes`.
fn rounds_in(study: &Study, arms: usize, minutes: u32) -> u32 {
    let rounds = u64::from(study.design.rounds);
    let round_ms = (planned_ms(study, arms) / rounds.max(1)).max(1);
    u32::try_from(u64::from(minutes) * 60_000 / round_ms).unwrap_or(u32::MAX)
}

fn extrapolate(pairs: &[Pair], rounds_in: impl Fn(u32) -> u32) -> Visible {
    let cpu = rehearsal::differences_of(pairs, Reading::server_cpu_us_per_request);
    let rate = rehearsal::differences_of(pairs, |reading| Some(reading.throughput_rps()));
    let budget = |minutes| {
        let rounds = rounds_in(minutes);
        let smallest = |differences: &[f64]| {
            judge::smallest_visible(differences, rounds, judge::holm::FAMILY_ALPHA)
        };
        Budget {
            minutes,
            rounds,
            cpu_per_request: smallest(&cpu),
            throughput: smallest(&rate),
        }
    };
    Visible {
        pairs: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
        relative_error: SPREAD_ERROR / (pairs.len().max(1) as f64).sqrt(),
        budgets: BUDGETS_MINUTES.map(budget).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::CpuReading;

    /// Pairs whose CPU per request differs by up to twice `percent` per cent, in alternating
    /// directions, and whose throughput differs by twice as much.
    fn noisy(percent: u64) -> Vec<Pair> {
        let reading = |answered, cpu_ns| Reading {
            window_ns: 1_000_000_000,
            answered,
            cpu: CpuReading {
                server_ns: Some(cpu_ns * answered),
                ..CpuReading::default()
            },
            ..Reading::default()
        };
        let pair = |number: u64| {
            let noise = percent * (number % 3);
            let (steady, other) = (
                reading(1000, 1000),
                reading(1000 + 20 * noise, 1000 + 10 * noise),
            );
            if number.is_multiple_of(2) {
                (steady, other)
            } else {
                (other, steady)
            }
        };
        (0..14).map(pair).collect()
    }

    #[test]
    fn more_time_sees_less_and_by_the_square_root() {
        let visible = extrapolate(&noisy(1), |minutes| 37 * minutes);
        let [one, _, thirty] = &visible.budgets[..] else {
            panic!("{visible:?}")
        };
        let ratio = one.cpu_per_request.unwrap() / thirty.cpu_per_request.unwrap();
        assert!((ratio / 30_f64.sqrt() - 1.0).abs() < 0.02, "{ratio}");
        assert!(one.throughput > one.cpu_per_request, "{one:?}");
    }

    #[test]
    fn a_noisier_machine_sees_less() {
        let at = |percent| {
            extrapolate(&noisy(percent), |_| 37).budgets[0]
                .cpu_per_request
                .unwrap()
        };
        assert!(at(4) > 3.0 * at(1));
    }

    #[test]
    fn without_pairs_nothing_is_said() {
        let visible = extrapolate(&[], |_| 37);
        assert_eq!(
            (visible.pairs, visible.budgets[0].cpu_per_request),
            (0, None)
        );
    }
}
