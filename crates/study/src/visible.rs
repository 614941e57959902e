//! How small an effect a comparison can see on this machine in a given time: from a rehearsal of
//! two identical servers, carried on to as many pairs as the time has room for.

use model::Reading;
use model::study::{Arm, Program, Role, Study};

use crate::arms::{BASELINE, CONTROL};
use crate::campaign::{Campaign, CampaignError, planned_ms};
use crate::rehearsal::{self, Pair};

/// Pairs of the rehearsal. With the look at the machine they stay below ten seconds.
pub const PAIRS: u32 = 14;
/// The times that are told.
const BUDGETS_MINUTES: [u32; 3] = [1, 5, 30];
/// Share of the spread's own standard error that one pair has, from the asymptotic efficiency of
/// 0.3675 of the median absolute deviation for normal differences: 1/√(2 × 0.3675).
const SPREAD_ERROR: f64 = 1.166;

/// What was seen of two identical servers, and what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Visible {
    pub pairs: u32,
    /// Standard error of every effect below, as a share of it: the spread is known no better.
    pub relative_error: f64,
    pub budgets: Vec<Budget>,
}

/// The smallest effects that a comparison in so much time finds with 80 % power at 5 % error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    pub minutes: u32,
    pub rounds: u32,
    /// As a share; `None` where the rehearsal gave too little.
    pub cpu_per_request: Option<f64>,
    pub throughput: Option<f64>,
}

impl Campaign<'_> {
    /// Measures a server of ours against itself, and says what comparisons of `arms` arms by the
    /// design of `study` could see.
    ///
    /// # Errors
    /// [`CampaignError::Refused`] where the machine must not be loaded; those of the agent.
    pub fn visible(&mut self, study: &Study, arms: usize) -> Result<Visible, CampaignError> {
        self.meet(false, true)?;
        self.start_targets(&identical_arms(), &study.workload)?;
        self.progress.phase("measuring two identical servers");
        let pairs = self.rehearsal_pairs(study, PAIRS)?;
        Ok(carried_on(&pairs, |minutes| {
            rounds_in(study, arms, minutes)
        }))
    }
}

fn identical_arms() -> [Arm; 2] {
    let arm = |name, role| Arm::new(name, name, role, Program::Serve);
    [arm(BASELINE, Role::Baseline), arm(CONTROL, Role::Control)]
}

/// Whole rounds of a study that so many minutes have room for.
fn rounds_in(study: &Study, arms: usize, minutes: u32) -> u32 {
    let rounds = u64::from(study.design.rounds);
    let round_ms = (planned_ms(study, arms) / rounds.max(1)).max(1);
    u32::try_from(u64::from(minutes) * 60_000 / round_ms).unwrap_or(u32::MAX)
}

fn carried_on(pairs: &[Pair], rounds_in: impl Fn(u32) -> u32) -> Visible {
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

    /// Pairs whose CPU per request differs by so many per cent, to and fro, and whose throughput
    /// by twice as many.
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
        let visible = carried_on(&noisy(1), |minutes| 37 * minutes);
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
            carried_on(&noisy(percent), |_| 37).budgets[0]
                .cpu_per_request
                .unwrap()
        };
        assert!(at(4) > 3.0 * at(1));
    }

    #[test]
    fn without_pairs_nothing_is_said() {
        let visible = carried_on(&[], |_| 37);
        assert_eq!(
            (visible.pairs, visible.budgets[0].cpu_per_request),
            (0, None)
        );
    }
}
