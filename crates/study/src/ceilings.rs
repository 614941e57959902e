//! What the machine can do at most, and what an answer of each arm takes of it, before the first block.

use model::ceiling::{AnswerDemand, ProbeValues};
use model::message::{BlockAsk, BurstsAsk, ObserveAsk, ProbeAsk, Whom};
use model::study::{Arm, Role, Study};
use model::{Ask, Doubt, Observation, Pace, Tell};

use crate::campaign::{Campaign, CampaignError};
use crate::transport::Agent;

/// What is asked of a server's host: what answers take most of; where its client is elsewhere, all but the last.
pub(crate) const PROBES: [&str; 3] = [
    "syscall_ns",
    "context_switch_ns",
    "loopback_bytes_per_second",
];
/// Load before a look, ms.
const SETTLE_MS: u32 = 60;
/// Length of an observation, ms: thousands of answers of most servers. It is shorter where the blocks
/// are, as in the smoke form.
const LOOK_MS: u32 = 200;

/// What the judge needs for ceilings, beside the blocks.
#[derive(Default)]
pub(crate) struct Ceilings {
    pub(crate) probed: ProbeValues,
    pub(crate) demands: Vec<AnswerDemand>,
    /// What of it is not known.
    pub(crate) doubts: Vec<Doubt>,
}

impl Campaign<'_> {
    /// Probes the server's host, and looks at each arm for a moment, with a seed of its
    /// moments; nothing without one, where no load is put on.
    pub(crate) fn ceilings(
        &mut self,
        study: &Study,
        arms: &[Arm],
        seed: Option<u64>,
    ) -> Result<Ceilings, CampaignError> {
        let Some(seed) = seed else {
            return Ok(Ceilings::default());
        };
        self.progress.phase("looking for the nearest ceilings");
        let names = match self.agent.client() {
            None => &PROBES[..],
            Some(_) => &PROBES[..PROBES.len() - 1],
        };
        let probed = probe(self.agent, names, seed)?;
        let mut all = Ceilings {
            doubts: unmeasured(names, &probed).into_iter().collect(),
            probed,
            demands: Vec::new(),
        };
        if study.gate.is_some() {
            return Ok(all);
        }
        let is_asked = |arm: &&Arm| !matches!(arm.role, Role::Control | Role::Floor);
        let look_ms = LOOK_MS.min(study.design.score_ms);
        for arm in arms.iter().filter(is_asked) {
            match self.glance(study, arm, (SETTLE_MS, look_ms), seed, BurstsAsk::Calls)? {
                Ok(observed) => all
                    .demands
                    .extend(judge::answer_demand(&arm.name, &observed)),
                Err(why) => all.doubts.push(Doubt::CeilingUnknown {
                    why: format!("{} could not be looked at: {why}", arm.title),
                }),
            }
        }
        Ok(all)
    }

    /// What is seen of an arm's server under its load, and then in these bursts; or why it could not be looked at.
    pub(crate) fn glance(
        &mut self,
        study: &Study,
        arm: &Arm,
        (settle_ms, look_ms): (u32, u32),
        seed: u64,
        bursts: BurstsAsk,
    ) -> Result<Result<Observation, String>, CampaignError> {
        let ask = ObserveAsk {
            whom: Whom::Loaded(BlockAsk {
                target: arm.name.clone(),
                workload: study.workload.clone(),
                pace: Pace::Closed,
                settle_ms,
                score_ms: look_ms,
            }),
            look_ms,
            seed,
            behind: Vec::new(),
            bursts,
        };
        match self.agent.ask(&Ask::Observe(Box::new(ask))) {
            Ok(Tell::Observed(observed)) => Ok(Ok(*observed)),
            Ok(_) => Err(CampaignError::Unexpected("a look")),
            Err(error) if error.is_refusal() => Ok(Err(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }
}

/// Says which of these probes told nothing.
pub(crate) fn unmeasured<S: AsRef<str>>(names: &[S], probed: &ProbeValues) -> Option<Doubt> {
    let has_none = |name: &&str| probed.get(*name).is_none_or(Vec::is_empty);
    let without: Vec<&str> = names.iter().map(AsRef::as_ref).filter(has_none).collect();
    (!without.is_empty()).then(|| Doubt::CeilingUnknown {
        why: format!("no value came of the probe of {}", without.join(", ")),
    })
}

/// What the server's host can do at most.
pub(crate) fn probe<S: AsRef<str>>(
    agent: &mut dyn Agent,
    names: &[S],
    seed: u64,
) -> Result<ProbeValues, CampaignError> {
    if names.is_empty() {
        return Ok(ProbeValues::new());
    }
    let names = names.iter().map(|name| name.as_ref().to_owned()).collect();
    match agent.ask(&Ask::Probe(ProbeAsk { names, seed }))? {
        Tell::Probed { values } => Ok(values),
        _ => Err(CampaignError::Unexpected("probes")),
    }
}
