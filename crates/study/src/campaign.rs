//! Drives the agent of a run: meets it, learns its levers, brings targets up, rehearses.

use model::cpus::{CpuShare, CpuWish, Workers};
use model::facts::Watched;
use model::lever::{Leave, LeverSetting, LeverState};
use model::message::ServerAnswer;
use model::run::{ClientHost, Rig};
use model::study::{Arm, DesignKind, Role, Study};
use model::{Ask, Doubt, Facts, Pace, Tell, Workload};

use crate::clock::Clock;
use crate::commands::CommandError;
use crate::preflight;
use crate::progress::{Outlook, Progress};
use crate::reboot::RebootError;
use crate::refusal::Refusal;
use crate::rehearsal;
use crate::store::StoreError;
use crate::transport::{Agent, AgentError};

/// How long the machine is watched before it is loaded, ms.
const WATCH_MS: u32 = 1000;
/// What a block takes besides settling and scoring, ms: connecting, levers, outstanding answers.
pub(crate) const BLOCK_OVERHEAD_MS: u64 = 25;

/// Why a run did not start or did not end.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Commands(Box<CommandError>),
    #[error("the agent answered {0} with something else; both must be of one version")]
    Unexpected(&'static str),
    #[error(transparent)]
    Reboot(#[from] RebootError),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// What the agent reported when it brought targets up.
#[derive(Default)]
pub(crate) struct Up {
    pub(crate) doubts: Vec<Doubt>,
    /// Answers of servers that were already running to each kind of request, by the servers'
    /// titles.
    pub(crate) answers: Vec<(String, Vec<ServerAnswer>)>,
}

/// Drives one agent through one run.
pub struct Campaign<'a> {
    pub agent: &'a mut dyn Agent,
    pub progress: &'a mut dyn Progress,
    pub clock: &'a dyn Clock,
}

/// What the agent reported about its host.
pub(crate) struct Acquaintance {
    pub(crate) rig: Rig,
    pub(crate) facts: Facts,
    pub(crate) watched: Watched,
    pub(crate) client: Option<ClientHost>,
    pub(crate) doubts: Vec<Doubt>,
}

impl Campaign<'_> {
    /// Learns what the machine is and, if it is to be loaded, whether it may be.
    pub(crate) fn meet(
        &mut self,
        full: bool,
        is_loaded: bool,
    ) -> Result<Acquaintance, CampaignError> {
        let hello = Ask::Hello {
            protocol: model::message::PROTOCOL,
        };
        let Tell::Hello { rig, .. } = self.agent.ask(&hello)? else {
            return Err(CampaignError::Unexpected("hello"));
        };
        let Tell::Facts(facts) = self.agent.ask(&Ask::Facts { full })? else {
            return Err(CampaignError::Unexpected("facts"));
        };
        self.progress.machine(&facts);
        let Tell::Watched(watched) = self.agent.ask(&Ask::Watch { watch_ms: WATCH_MS })? else {
            return Err(CampaignError::Unexpected("watch"));
        };
        let client = self.agent.client().cloned();
        let mut doubts = match is_loaded {
            true => preflight::work_of_others(&watched),
            // The work that runs here is what is measured.
            false => Vec::new(),
        };
        doubts.extend(client.iter().flat_map(preflight::work_beside_the_client));
        if !doubts.is_empty() && !self.progress.may_load(&doubts) {
            let words: Vec<String> = doubts.iter().map(Doubt::what).collect();
            return Err(Refusal(format!(
                "this machine is at work: {}; add `--yes` to load it anyway",
                words.join("; ")
            ))
            .into());
        }
        if let Rig::Loopback {
            reason: Some(reason),
        } = &rig
        {
            doubts.push(Doubt::NoPrivateNamespace {
                reason: reason.clone(),
            });
        }
        doubts.extend(preflight::quota_doubt(&facts));
        let hosts = client.iter().map(|client| &client.facts);
        doubts.extend(preflight::irq_time_doubt(hosts.chain([&*facts])));
        Ok(Acquaintance {
            rig,
            facts: *facts,
            watched,
            client,
            doubts,
        })
    }

    /// Asks the agent to share the CPUs between both ends.
    pub(crate) fn share_cpus(&mut self, wish: &CpuWish) -> Result<CpuShare, CampaignError> {
        match self.agent.ask(&Ask::Cpus(wish.clone()))? {
            Tell::Cpus(cpus) => Ok(cpus),
            _ => Err(CampaignError::Unexpected("CPUs")),
        }
    }

    /// Learns which levers of a study can be set on top of the levers `first` of its first state.
    /// `leave` says how far they may reach.
    pub(crate) fn levers(
        &mut self,
        study: &Study,
        first: Vec<LeverSetting>,
        leave: Leave,
    ) -> Result<Vec<LeverState>, CampaignError> {
        let ask = Ask::Levers {
            wanted: study.levers(),
            first,
            leave,
            workers: study.workload.workers.counts(1)[0],
        };
        match self.agent.ask(&ask)? {
            Tell::Levers { levers } => Ok(levers),
            _ => Err(CampaignError::Unexpected("levers")),
        }
    }

    /// Starts the target of every arm; the floor comes last, since it takes its sizes from the
    /// others.
    pub(crate) fn start_targets(
        &mut self,
        arms: &[Arm],
        workload: &Workload,
    ) -> Result<Up, CampaignError> {
        self.progress.phase("starting the servers");
        self.start_or_replace(arms.iter(), workload)
    }

    /// Starts targets in the place of those that are already up.
    pub(crate) fn start_or_replace<'a>(
        &mut self,
        arms: impl Iterator<Item = &'a Arm>,
        workload: &Workload,
    ) -> Result<Up, CampaignError> {
        let mut up = Up::default();
        for arm in arms {
            let path = arm.path.as_ref().unwrap_or(&workload.path);
            let start = Ask::Start {
                target: arm.name.clone(),
                program: arm.program.clone(),
                levers: arm.levers.clone(),
                workload: Workload {
                    path: path.clone(),
                    workers: arm
                        .workers
                        .map_or_else(|| workload.workers.clone(), Workers::Count),
                    ..workload.clone()
                },
                listen: None,
            };
            let Tell::Started {
                doubts, answers, ..
            } = self.agent.ask(&start)?
            else {
                return Err(CampaignError::Unexpected("start"));
            };
            if !answers.is_empty() {
                up.answers.push((arm.title.clone(), answers));
            }
            for doubt in doubts {
                if !up.doubts.contains(&doubt) {
                    up.doubts.push(doubt);
                }
            }
        }
        Ok(up)
    }

    /// Measures the baseline against itself briefly, and returns the smallest effect that is
    /// visible.
    pub(crate) fn rehearse(
        &mut self,
        study: &Study,
        arms: &[Arm],
    ) -> Result<Option<f64>, CampaignError> {
        self.progress.phase("rehearsing with two identical arms");
        let (rounds, error) = (study.design.rounds, error_of_first(arms));
        // Too few rounds for a verdict show no effect of any size: one pair warms the servers.
        let count = match rounds < judge::fewest_pairs(error) {
            true => 1,
            false => rehearsal::PAIRS,
        };
        let pairs = self.rehearsal_pairs(study, count)?;
        let differences = rehearsal::differences(&pairs);
        Ok(judge::smallest_visible(&differences, rounds, error))
    }

    pub(crate) fn rehearsal_pairs(
        &mut self,
        study: &Study,
        count: u32,
    ) -> Result<Vec<rehearsal::Pair>, CampaignError> {
        let score_ms = rehearsal::SCORE_MS.min(study.design.score_ms);
        rehearsal::pairs(count, |arm| self.block(study, arm, Pace::Closed, score_ms))
    }

    pub(crate) fn announce(
        &mut self,
        (study, arms): (&Study, &[Arm]),
        is_loaded: bool,
        planned_ms: u64,
        expected_visible: Option<f64>,
    ) {
        self.progress.outlook(&Outlook {
            outcome: match is_loaded {
                true => "CPU per request",
                false => "CPU per kilobyte carried",
            }
            .to_owned(),
            expected_visible,
            sought: study.design.smallest_effect,
            rounds: study.design.rounds,
            fewest_rounds: judge::fewest_pairs(error_of_first(arms)),
            planned_ms,
        });
    }
}

/// The error that Holm's method allows for the first success among all steps.
fn error_of_first(arms: &[Arm]) -> f64 {
    let steps = arms.iter().filter(|arm| arm.role == Role::Step).count();
    judge::holm::FAMILY_ALPHA / steps.max(1) as f64
}

pub(crate) fn blindness(visible: Option<f64>, sought: f64) -> Option<Doubt> {
    let smallest_visible = visible.filter(|visible| *visible > sought)?;
    Some(Doubt::BlindToEffect {
        smallest_visible,
        sought,
    })
}

/// Number of arms in open loop: both ends of a ladder, or all compared arms but control and floor.
fn in_open_loop(study: &Study, arms: usize) -> u64 {
    match study.design.kind {
        DesignKind::Ladder => 2,
        DesignKind::Compare => (arms as u64).saturating_sub(1 + u64::from(study.floor)),
    }
}

/// How long a plan takes once its servers are up, ms.
pub fn planned_ms(study: &Study, arms: usize) -> u64 {
    let rounds = u64::from(study.design.rounds) * arms as u64;
    let rounds = rounds * block_ms(study, study.design.score_ms);
    let latency = study.latency.as_ref().map_or(0, |latency| {
        in_open_loop(study, arms) * u64::from(latency.blocks) * block_ms(study, latency.score_ms)
    });
    // The two ends, the control, and the last state without each step.
    rounds + latency + confirming_ms(study, study.steps.len() as u64 + 3)
}

/// How long the last state and its control take in a boot, ms.
pub(crate) fn boot_ms(study: &Study) -> u64 {
    confirming_ms(study, 2)
}

/// How long `arms` arms take in the rounds that confirm a whole ladder, ms; 0 if it has none.
fn confirming_ms(study: &Study, arms: u64) -> u64 {
    let whole = study.whole.as_ref();
    let rounds = whole.map_or(0, |whole| u64::from(whole.confirm_rounds));
    rounds * arms * block_ms(study, study.design.score_ms)
}

fn block_ms(study: &Study, score_ms: u32) -> u64 {
    u64::from(study.design.settle_ms) + u64::from(score_ms) + BLOCK_OVERHEAD_MS
}
