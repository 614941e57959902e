//! A gate between two commits: has them built, and settles how many rounds there is time for.

use model::gate::{self, Unit};
use model::study::Program;
use model::{Arm, Ask, Study, Tell};

use crate::campaign::{BLOCK_OVERHEAD_MS, Campaign, CampaignError};
use crate::under_test::Targets;

/// Shortest scored window, ms, however fast servers start, unless the study has a shorter one.
const SHORTEST_SCORE_MS: u64 = 300;
/// Longest scored window, ms, however slowly servers start.
const LONGEST_SCORE_MS: u64 = 2000;

impl Campaign<'_> {
    /// Has the agent build the commits that are compared.
    pub(crate) fn build(&mut self, targets: &Targets) -> Result<(), CampaignError> {
        let Targets::Built { builds, .. } = targets else {
            return Ok(());
        };
        for build in builds {
            self.progress.phase(&format!("building {}", build.title));
            let Tell::Built { .. } = self.agent.ask(&Ask::Build(Box::new(build.clone())))? else {
                return Err(CampaignError::Unexpected("build"));
            };
        }
        Ok(())
    }
}

/// The arms as a round measures them: each with the build whose turn it is.
pub(crate) fn of_round(study: &Study, arms: &[Arm], round: u32) -> Vec<Arm> {
    let set = study.gate.map_or(0, |gate| gate.set(round));
    let of_set = |arm: &Arm| Arm {
        program: match &arm.program {
            Program::Built(name) => Program::Built(gate::of_set(name, set)),
            other => other.clone(),
        },
        ..arm.clone()
    };
    arms.iter().map(of_set).collect()
}

/// Settles how many rounds a gate has at most, once it is known how long its arms take to start.
/// Servers are started again in every round: the longer that takes, the longer they are measured.
/// Returns how long all rounds take, ms; `None` if the study is no gate.
pub(crate) fn settle(study: &mut Study, arms: usize, start_ms: u64) -> Option<u64> {
    let gate = study.gate?;
    let (arms, design) = (arms as u64, &mut study.design);
    let shortest = u64::from(design.score_ms).min(SHORTEST_SCORE_MS);
    let score_ms = (start_ms / 2).clamp(shortest, LONGEST_SCORE_MS);
    let round_ms = match gate.unit {
        Unit::Request => {
            let block_ms = u64::from(design.settle_ms) + score_ms + BLOCK_OVERHEAD_MS;
            design.score_ms = u32::try_from(score_ms).unwrap_or(u32::MAX);
            start_ms + arms * block_ms
        }
        // As many whole runs as are needed to fill the time of a block.
        Unit::Run => {
            let run_ms = (start_ms / arms.max(1)).max(1);
            arms * run_ms * u64::from(design.score_ms).div_ceil(run_ms)
        }
    };
    if gate.most_ms > 0 {
        let rounds = u32::try_from(gate.most_ms / round_ms.max(1)).unwrap_or(u32::MAX);
        design.rounds = rounds.clamp(judge::QUICK_PAIRS, MOST_ROUNDS);
        design.looks = judge::looks::planned(design.rounds);
    }
    Some(u64::from(design.rounds) * round_ms)
}

/// Most rounds; more of them say nothing new.
const MOST_ROUNDS: u32 = 500;

#[cfg(test)]
mod tests {
    use super::*;
    use model::gate::GateDesign;

    /// Rounds and length of a block, ms.
    fn settled(unit: Unit, start_ms: u64) -> (u32, u32) {
        let found = crate::catalogue::find("http-json").unwrap();
        let mut study = found.study.load().unwrap();
        (study.design.settle_ms, study.design.score_ms) = (75, 300);
        study.gate = Some(GateDesign {
            bar: 0.03,
            unit,
            most_ms: 180_000,
            builds: 2,
        });
        settle(&mut study, 3, start_ms);
        assert_eq!(study.design.looks.last(), Some(&study.design.rounds));
        (study.design.rounds, study.design.score_ms)
    }

    #[test]
    fn servers_that_start_slowly_are_measured_longer_and_in_fewer_rounds() {
        assert_eq!(settled(Unit::Request, 0), (150, 300));
        assert_eq!(settled(Unit::Request, 2000), (33, 1000));
        assert_eq!(settled(Unit::Request, 60_000), (16, 2000));
    }

    #[test]
    fn a_command_has_as_many_rounds_as_there_is_time_for() {
        assert_eq!(settled(Unit::Run, 90), (200, 300));
        assert_eq!(settled(Unit::Run, 4500), (40, 300));
        assert_eq!(settled(Unit::Run, 750), (120, 300), "two runs are a block");
    }
}
