//! Before the first block: probes what the machine can do at most, and observes how much of it an
//! answer of each arm takes.

use model::ceiling::{AnswerDemand, ProbeValues};
use model::message::{BlockAsk, BurstsAsk, ObserveAsk, ProbeAsk, Whom};
use model::study::{Arm, Role, Study};
use model::{Ask, Doubt, Observation, Pace, Tell};

use crate::campaign::{Campaign, CampaignError};
use crate::transport::Agent;

/// The probes of the server's host: the resources of which answers take most. If the client is on
/// another machine, the last one is left out.
pub(crate) const PROBES: [&str; 3] = [
    "syscall_ns",
    "context_switch_ns",
    "loopback_bytes_per_second",
];
/// Load before an observation, ms.
const SETTLE_MS: u32 = 60;
/// Length of an observation, ms: thousands of answers of most servers. It is shorter where the blocks
/// are, as in the smoke form.
const LOOK_MS: u32 = 200;

/// What the judge needs to compute ceilings, in addition to the blocks.
#[derive(Default)]
pub(crate) struct Ceilings {
    pub(crate) probed: ProbeValues,
    pub(crate) demands: Vec<AnswerDemand>,
    /// The ceilings that are not known.
    pub(crate) doubts: Vec<Doubt>,
}

impl Campaign<'_> {
    /// Probes the server's host and observes each arm for a moment. `seed` draws the moments of the
    /// observation; `None` where no load is put on, and then nothing is measured.
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
                    why: format!("{} could not be observed: {why}", arm.title),
                }),
            }
        }
        Ok(all)
    }

    /// Observes an arm's server under its load, followed by these bursts. The inner error says why
    /// it could not be observed.
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

/// Returns a doubt that names the probes without a value.
pub(crate) fn unmeasured<S: AsRef<str>>(names: &[S], probed: &ProbeValues) -> Option<Doubt> {
    let has_none = |name: &&str| probed.get(*name).is_none_or(Vec::is_empty);
    let without: Vec<&str> = names.iter().map(AsRef::as_ref).filter(has_none).collect();
    (!without.is_empty()).then(|| Doubt::CeilingUnknown {
        why: format!("the probe of {} gave no value", without.join(", ")),
    })
}

/// Measures what the server's host can do at most.
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
