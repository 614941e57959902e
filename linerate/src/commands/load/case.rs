//! A target that was looked at and how it is to be loaded: what a search and a sweep repeat.

use model::Pace;
use traffic::load::{LoadOutcome, LoadPlan, Observer};

use super::Arguments;
use super::requests::Requests;
use super::target::Target;

/// Plain lines of progress where no line can be drawn.
pub(super) const PLAIN_LINES: usize = 10;

pub(super) struct Case<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) target: &'a Target,
    /// With the pace left open.
    pub(super) plan: LoadPlan,
    pub(super) requests: Requests,
    /// Remarks about how it is measured, each a sentence.
    pub(super) notes: Vec<String>,
}

impl Case<'_> {
    /// One block of so many connections; `None` when a signal ended it early.
    pub(super) fn block(
        &self,
        connections: u32,
        pace: Pace,
        observer: &mut dyn Observer,
    ) -> anyhow::Result<Option<LoadOutcome>> {
        let plan = LoadPlan {
            connections,
            threads: self.plan.threads.min(connections),
            pace,
            ..self.plan.clone()
        };
        let outcome = self.requests.put_on(&plan, observer)?;
        Ok(sys::stop::heard().is_none().then_some(outcome))
    }

    /// What one block takes, ns.
    pub(super) fn block_ns(&self) -> u64 {
        self.plan.settle_ns + self.plan.score_ns
    }
}
