//! The trial before the first block that counts. It runs every arm once, to see that it works and
//! how long a round takes, and the baseline against itself, to see how small an effect can be seen.

use model::command_run::{CommandArm, Measured};
use model::{CommandStudy, Doubt, Role};

use super::hands::{ArmCommands, Failed, Trouble};
use crate::campaign::CampaignError;
use crate::clock::Clock;
use crate::rehearsal;

/// Longest time for which the baseline is run against itself, ms.
const LONGEST_REHEARSAL_MS: u64 = 20_000;
/// Fewest pairs of the baseline; fewer say nothing about their spread.
const FEWEST_PAIRS: u32 = 3;

/// Results of the trial.
pub(super) struct Trial {
    /// How long a round takes, ms.
    pub(super) round_ms: u64,
    /// The smallest effect that can be seen, as a share; `None` if the commands take too long for
    /// the rehearsal.
    pub(super) visible: Option<f64>,
    /// The arms that failed.
    pub(super) failed: Vec<Doubt>,
}

/// Runs every arm once and the baseline in pairs.
pub(super) fn run(
    study: &CommandStudy,
    hands: &mut ArmCommands<'_>,
    clock: &dyn Clock,
) -> Result<Trial, CampaignError> {
    let begun_ms = clock.now_ms();
    let failed = try_every(hands)?;
    let round_ms = clock.now_ms() - begun_ms;
    let arms = hands.arms.len().max(1) as u64;
    let pair_ms = (2 * round_ms / arms).max(1);
    let affordable = u32::try_from(LONGEST_REHEARSAL_MS / pair_ms).unwrap_or(u32::MAX);
    let visible = match affordable.min(rehearsal::PAIRS) {
        ..FEWEST_PAIRS => None,
        pairs => rehearse(study, hands, pairs)?,
    };
    Ok(Trial {
        round_ms,
        visible,
        failed,
    })
}

/// Runs every arm once. An arm may fail, which becomes a doubt: the others are measured without it,
/// as long as two are left to compare and the control has its baseline.
fn try_every(hands: &mut ArmCommands<'_>) -> Result<Vec<Doubt>, CampaignError> {
    let mut failed: Vec<(&CommandArm, Box<Failed>)> = Vec::new();
    for arm in hands.arms {
        match hands.block(arm) {
            Ok(_) => {}
            Err(Trouble::OfArm(trouble)) if arm.role == Role::Step => failed.push((arm, trouble)),
            Err(trouble) => return Err(trouble.into()),
        }
    }
    let does_well = |name: &str| failed.iter().all(|(arm, _)| arm.name != name);
    let is_compared = |arm: &CommandArm| {
        let against = arm.against.as_deref().filter(|_| arm.role == Role::Step);
        does_well(&arm.name) && against.is_some_and(does_well)
    };
    let can_compare = hands.arms.iter().any(is_compared);
    let doubts = failed.iter().map(|(arm, trouble)| trouble.doubt(arm));
    let doubts = doubts.collect();
    match failed.into_iter().next() {
        Some((_, first)) if !can_compare => Err(Trouble::OfArm(first).into()),
        _ => Ok(doubts),
    }
}

/// Compares the baseline with its control in the metric of the verdicts, and returns the smallest
/// effect that can be seen.
fn rehearse(
    study: &CommandStudy,
    hands: &mut ArmCommands<'_>,
    count: u32,
) -> Result<Option<f64>, CampaignError> {
    let arms = hands.arms;
    let (Some(baseline), Some(metric)) = (arms.first(), study.metrics.first()) else {
        return Ok(None);
    };
    let pairs = rehearsal::pairs(count, |_| hands.block(baseline))?;
    let value = |measured: &Measured| measured.values.get(&metric.name).copied();
    let differences = rehearsal::differences_of(&pairs, value);
    Ok(judge::visible_to_plan(study, arms, &differences))
}
