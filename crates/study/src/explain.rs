//! Observes a program at work, and tries whether what it is accused of does hold it back.

use std::net::SocketAddr;
use std::path::Path;

use model::ceiling::ProbeValues;
use model::cpus::CpuWish;
use model::explanation::{Hindrance, LookKind, Looked, SavedLook, Trial};
use model::message::{BlockAsk, BurstsAsk, HinderAsk, ObserveAsk, Whom};
use model::random::SplitMix64;
use model::request::RequestSpec;
use model::run::Begun;
use model::study::{Arm, Program, Role};
use model::{Ask, Observation, Pace, Tell, Workload};

use crate::arms::BASELINE;
use crate::campaign::{Campaign, CampaignError};
use crate::ceilings::{PROBES, probe};
use crate::store::Store;

/// Load before the observation, ms.
const SETTLE_MS: u32 = 60;
/// Length that all blocks of the trial together should have, ms: with the observation, the trial is
/// over within 15 s.
const TRIAL_MS: u32 = 6_000;
/// Most pairs of blocks in the trial, and fewest: with fewer no interval excludes anything.
const PAIRS: (usize, usize) = (12, 7);
/// Share of the accused's CPU time that is taken from it, 0 to 1.
const TAKE: f64 = 0.15;
/// Share of the quota that is taken, 0 to 1.
const TAKE_OF_QUOTA: f64 = 0.10;
/// Period of most quotas, ms. A block lasts for whole periods: whenever they begin, every block has
/// the same number of them.
const QUOTA_PERIOD_MS: u32 = 100;
/// A change smaller than this part of [`TAKE`] shows nothing.
const ENOUGH: f64 = 0.2;

/// The order to explain a program.
pub struct ExplainOrder {
    /// The program.
    pub whose: Whose,
    /// The load that drives the program, where it is ours.
    pub workload: Workload,
    /// Length of the look, ms.
    pub look_ms: u32,
    /// Whether the accused may be hindered.
    pub touch: bool,
    /// Seed of the moments, and of the order of the trial.
    pub seed: u64,
    /// Name of the program for readers, without secrets.
    pub title: String,
    /// The command that repeats it, without secrets.
    pub command: String,
}

/// The program to explain, and what it is doing.
pub enum Whose {
    /// A server that runs here, under load of ours.
    Asked(Box<RequestSpec>),
    /// A process, under whatever load it has.
    Process(u32),
    /// The processes that listen at this address, under whatever load they have.
    Listener(SocketAddr),
    /// A program that we start, by the words of its command.
    Command(Vec<String>),
}

/// The blocks of a trial. Their lengths follow the response time: requests under way before a block
/// must end within its settling, and a block must hold several answers of each connection.
struct TrialPlan {
    whom: Hindrance,
    pairs: usize,
    /// Load before the scored window, ms.
    settle_ms: u32,
    /// Length of the scored window, ms.
    score_ms: u32,
}

impl TrialPlan {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casts of floats saturate"
    )]
    fn new(whom: Hindrance, response_us: f64) -> Self {
        let times = |factor: f64| (response_us * factor / 1e3) as u32;
        let (settle_ms, score_ms) = (times(1.5).clamp(60, 150), times(4.0).clamp(180, 350));
        let (settle_ms, score_ms) = match whom {
            Hindrance::Quota => (QUOTA_PERIOD_MS, 5 * QUOTA_PERIOD_MS),
            _ => (settle_ms, score_ms),
        };
        let fitting = TRIAL_MS / (2 * (settle_ms + score_ms));
        Self {
            whom,
            pairs: (fitting as usize).clamp(PAIRS.1, PAIRS.0),
            settle_ms,
            score_ms,
        }
    }

    fn block(&self, workload: &Workload) -> BlockAsk {
        block(workload, self.settle_ms, self.score_ms)
    }
}

impl Campaign<'_> {
    /// Observes the program, hinders what the judge accuses, and saves both in a new folder.
    ///
    /// # Errors
    /// [`CampaignError::Refused`] if the machine must not be loaded; errors of the agent and of the
    /// folder.
    pub fn explain(&mut self, order: &ExplainOrder, folder: &Path) -> Result<(), CampaignError> {
        let claim = Store::claim(folder)?;
        let is_loaded = matches!(order.whose, Whose::Asked(_));
        let met = self.meet(false, is_loaded)?;
        self.share_cpus(&CpuWish::default())?;
        let whom = match &order.whose {
            Whose::Asked(request) => {
                let program = Program::Request(request.clone());
                self.start_targets(&[arm(program)], &order.workload)?;
                load_of(order)
            }
            Whose::Process(pid) => Whom::Process(*pid),
            Whose::Listener(address) => Whom::Listener { address: *address },
            Whose::Command(words) => Whom::Command {
                words: words.clone(),
            },
        };
        let by = Begun::at(self.clock.wall(), order.command.clone(), order.seed);
        self.progress.phase("looking at it");
        let observation = self.observe(whom, order, &[])?;
        let (trial, untried) = match self.trial(order, &observation)? {
            Ok(trial) => (Some(trial), None),
            Err(why) => (None, Some(why)),
        };
        let behind = self.behind(order, &observation)?;
        let looked = Looked {
            workload: LookKind::Look,
            target: order.title.clone(),
            observation,
            trial,
            untried,
            behind,
        };
        let look = SavedLook {
            rig: met.rig,
            watched: met.watched,
            doubts: met.doubts,
            ..SavedLook::begun(looked, Vec::new(), met.facts, by)
        };
        claim.describe(&look)?;
        Ok(())
    }

    /// Observes a program, or the processes `behind` it.
    pub(crate) fn observe(
        &mut self,
        whom: Whom,
        order: &ExplainOrder,
        behind: &[u32],
    ) -> Result<Observation, CampaignError> {
        let probed = match &whom {
            Whom::Loaded(_) => probe(self.agent, &PROBES, order.seed)?,
            _ => ProbeValues::new(),
        };
        let ask = ObserveAsk {
            whom,
            look_ms: order.look_ms,
            seed: order.seed,
            behind: behind.to_vec(),
            bursts: BurstsAsk::All,
        };
        match self.agent.ask(&Ask::Observe(Box::new(ask)))? {
            Tell::Observed(seen) => Ok(Observation { probed, ..*seen }),
            _ => Err(CampaignError::Unexpected("a look")),
        }
    }

    /// Hinders what the judge accuses and measures the effect; the inner error says why there is no
    /// trial.
    fn trial(
        &mut self,
        order: &ExplainOrder,
        seen: &Observation,
    ) -> Result<Result<Trial, String>, CampaignError> {
        let untried = |why: &str| Ok(Err(why.to_owned()));
        if !order.touch {
            return untried("--no-touch was given");
        }
        if seen.command.is_some() {
            return untried(
                "a command runs only once, so how long it takes without a hindrance is not known",
            );
        }
        let explained = judge::explain(seen);
        let hindrances = explained.limiter.map(|it| [it.closer, it.hindrance]);
        let response_us = explained.ledger.response_us.unwrap_or(0.0);
        let mut why = "nothing of it can be hindered".to_owned();
        let mut hindrances: Vec<Hindrance> = hindrances.into_iter().flatten().flatten().collect();
        if seen.load.is_none() {
            hindrances.retain(is_its_own);
            "for a program with clients of its own only its quota and its system calls are hindered, as the clients may use its CPUs too"
                .clone_into(&mut why);
        }
        if !hindrances.is_empty()
            && seen.load.is_none()
            && !self.takes_up_with_its_clients(order, seen)?
        {
            return untried("what its connections carry cannot be seen");
        }
        for whom in hindrances {
            let plan = TrialPlan::new(whom, response_us);
            self.progress
                .phase("hindering the suspected limiter for alternate moments");
            why = match (self.pairs(order, &plan), &plan.whom) {
                // Servers limit their connections; the observation found no such limit.
                (Err(CampaignError::Agent(error)), Hindrance::Connections)
                    if error.is_refusal() =>
                {
                    "half again as many connections could not be held open".to_owned()
                }
                // A failed trial must not lose the observation.
                (Err(CampaignError::Agent(error)), _) if error.is_refusal() => error.to_string(),
                (Ok(Err(why)), _) => why.to_owned(),
                (tried, _) => return Ok(tried?.map_err(str::to_owned)),
            };
        }
        Ok(Err(why))
    }

    /// Makes the blocks that follow measure what the program's own connections carry, whoever
    /// opened them. Returns whether that can be seen.
    fn takes_up_with_its_clients(
        &mut self,
        order: &ExplainOrder,
        seen: &Observation,
    ) -> Result<bool, CampaignError> {
        let Some(address) = seen.listens.first() else {
            return Ok(false);
        };
        let watched = Program::Watched(format!("http://{address}/"));
        match self.start_targets(&[arm(watched)], &order.workload) {
            Err(CampaignError::Agent(error)) if error.is_refusal() => Ok(false),
            started => started.map(|_| true),
        }
    }

    fn pairs(
        &mut self,
        order: &ExplainOrder,
        plan: &TrialPlan,
    ) -> Result<Result<Trial, &'static str>, CampaignError> {
        let mut random = SplitMix64::new(order.seed);
        let (mut pairs, mut change) = (Vec::new(), 0.0);
        for _ in 0..plan.pairs {
            let is_first = random.bits() & 1 == 0;
            let before = if is_first {
                None
            } else {
                Some(self.plain(plan, &order.workload)?)
            };
            let (with, changed) = self.hindered(order, plan)?;
            let without = match before {
                Some(rate) => rate,
                None => self.plain(plan, &order.workload)?,
            };
            change += changed / plan.pairs as f64;
            pairs.push((without, with));
            if changed.abs() < TAKE * ENOUGH {
                return Ok(Err(match plan.whom {
                    Hindrance::Quota => "its quota could not be lowered",
                    Hindrance::Calls(_) => "it makes too few of these calls for a delay to show",
                    Hindrance::ClientElsewhere { .. } => "the possible gain is too small to show",
                    _ => "it has no CPU of its own here from which time could be taken",
                }));
            }
        }
        Ok(Ok(Trial {
            whom: plan.whom.clone(),
            change,
            pairs,
        }))
    }

    /// Measures a block without hindrance: answers per second, or kB carried per second.
    fn plain(&mut self, plan: &TrialPlan, workload: &Workload) -> Result<f64, CampaignError> {
        Ok(self.ask_block(plan.block(workload))?.throughput_rps())
    }

    /// Measures a block with the accused hindered: answers per second, and the change of its
    /// resource as a share of what it had.
    fn hindered(
        &mut self,
        order: &ExplainOrder,
        plan: &TrialPlan,
    ) -> Result<(f64, f64), CampaignError> {
        if plan.whom == Hindrance::Connections {
            let offered = &order.workload;
            let more = Workload {
                connections: offered.connections + offered.connections.div_ceil(2),
                ..offered.clone()
            };
            let change = f64::from(more.connections) / f64::from(offered.connections) - 1.0;
            return Ok((self.plain(plan, &more)?, change));
        }
        let ask = HinderAsk {
            block: plan.block(&order.workload),
            whom: plan.whom.clone(),
            take: match plan.whom {
                Hindrance::Quota => TAKE_OF_QUOTA,
                _ => TAKE,
            },
        };
        match self.agent.ask(&Ask::Hinder(Box::new(ask)))? {
            Tell::Hindered(block) => Ok((block.reading.throughput_rps(), -block.taken)),
            _ => Err(CampaignError::Unexpected("a hindered block")),
        }
    }
}

/// The target, with load for as long as the observation lasts.
pub(crate) fn load_of(order: &ExplainOrder) -> Whom {
    Whom::Loaded(block(&order.workload, SETTLE_MS, order.look_ms))
}

/// Whether this hinders the program alone, and no client with it.
fn is_its_own(whom: &Hindrance) -> bool {
    matches!(whom, Hindrance::Quota | Hindrance::Calls(_))
}

fn arm(program: Program) -> Arm {
    Arm::new(BASELINE, "as it is", Role::Baseline, program)
}

fn block(workload: &Workload, settle_ms: u32, score_ms: u32) -> BlockAsk {
    BlockAsk {
        target: BASELINE.to_owned(),
        workload: workload.clone(),
        pace: Pace::Closed,
        settle_ms,
        score_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_several_slow_answers_and_the_trial_is_over_in_time() {
        for (response_us, settle_ms, score_ms, pairs) in
            [(0.0, 60, 180, 12), (80e3, 120, 320, 7), (1e12, 150, 350, 7)]
        {
            let plan = TrialPlan::new(Hindrance::Connections, response_us);
            let planned = (plan.settle_ms, plan.score_ms, plan.pairs);
            assert_eq!(planned, (settle_ms, score_ms, pairs), "{response_us}");
        }
    }
}
