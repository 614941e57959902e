//! A target that answers and how it is to be loaded: what a search and a sweep repeat.

use agent::Window;
use machine::instruments::cpu::CpuWatch;
use model::failure::Failure;
use model::load_run::{LoadStudy, LoadWorkload};
use model::{Pace, Reading};
use study::load::PutsOnLoad;
use traffic::load::{LoadPlan, NoObserver};

use super::requests::Requests;
use super::target::{self, Target};
use super::{Arguments, version};
use crate::console::Console;
use crate::progress_line::ProgressLine;

/// Plain lines of progress where no line can be drawn.
const PLAIN_LINES: usize = 10;

pub(super) struct Case<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) target: &'a Target,
    /// The plan of a single load; a search or a sweep sets another pace for each block.
    pub(super) plan: LoadPlan,
    pub(super) requests: Requests,
    /// Remarks about how it is measured, each a sentence.
    pub(super) notes: Vec<String>,
}

impl Case<'_> {
    /// The study as it is saved: without what may be secret.
    pub(super) fn study(&self, workload: LoadWorkload) -> LoadStudy {
        let plan = &self.plan;
        LoadStudy {
            workload,
            target: self.target.shown.clone(),
            address: plan.address.to_string(),
            http: version(plan),
            streams: plan.streams(),
            connections: plan.connections,
            threads: plan.threads,
            arrivals: self.arguments.arrivals(),
            settle_ns: plan.settle_ns,
            score_ns: plan.score_ns,
            timeout_ns: plan.timeout_ns,
            mark: Some(self.requests.mark(plan)),
            notes: self.notes.clone(),
        }
    }

    /// How long one block takes, ns.
    pub(super) fn block_ns(&self) -> u64 {
        self.plan.settle_ns + self.plan.score_ns
    }
}

/// Puts load on from this process, block by block.
pub(super) struct Blocks<'a> {
    case: &'a Case<'a>,
    /// The processes of the server, where they can be seen.
    pids: Vec<u32>,
    line: ProgressLine<'a>,
}

impl<'a> Blocks<'a> {
    pub(super) fn of(case: &'a Case<'a>, console: &'a Console) -> Self {
        Self {
            pids: target::pids(&case.plan.address),
            line: ProgressLine::new(console, PLAIN_LINES),
            case,
        }
    }

    pub(super) fn end(&self) {
        self.line.end();
    }
}

impl PutsOnLoad for Blocks<'_> {
    fn has_room(&self, connections: u32) -> bool {
        let plan = LoadPlan {
            connections,
            ..self.case.plan.clone()
        };
        plan.check().is_ok() && plan.make_room().is_ok()
    }

    fn block(&mut self, connections: u32, pace: Pace) -> Result<Option<Reading>, Failure> {
        let plan = &self.case.plan;
        let plan = LoadPlan {
            connections,
            threads: plan.threads.min(connections),
            pace,
            ..plan.clone()
        };
        let mut window = Window {
            watch: CpuWatch::new(&self.pids),
            beside: &mut NoObserver,
        };
        let outcome = self.case.requests.put_on(&plan, &mut window);
        let outcome = outcome.map_err(|error| Failure::plain(error.to_string()))?;
        let is_whole = sys::stop::heard().is_none();
        Ok(is_whole.then(|| agent::reading(outcome, &window.watch)))
    }

    fn block_done(&mut self, done: usize, planned: usize, what: &str) {
        self.line.step(done, planned, what);
    }
}
