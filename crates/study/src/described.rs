//! Checks whether a run of ours could have what a run folder describes. Files of studies and
//! services are checked when they are read. A folder may come from a stranger, who can have written
//! anything into it.

use model::bench::SavedBench;
use model::command_run::{CommandArm, CommandRun};
use model::cpus::MOST_WORKERS;
use model::load_run::{Level, LoadWorkload, SavedLoad};
use model::run::MOST_ROUNDS;
use model::service::ServiceRecord;
use model::study::Arm;
use model::{CommandStudy, RunRecord, Study, Workload};

use crate::arms::CONTROL;
use crate::bench::plan::MOST_COMMANDS;
use crate::spec::MOST_ITEMS;
use crate::{commands, service_spec, spec};

/// Most rounds that the file of a study of commands may ask for.
const MOST_ROUNDS_OF_A_FILE: u32 = 1_000;
/// Longest block, ms.
const LONGEST_MS: u32 = 60_000;
const MOST_CONNECTIONS: u32 = 10_000;
const MOST_THREADS: u32 = 1_000;
/// Most arms: for each step one in the climb, one with it alone, one without it, and pairs.
const MOST_ARMS: usize = 5 * MOST_ITEMS;

/// A run as its folder describes it.
pub trait Described {
    /// Returns what no run of ours could have, if there is anything.
    fn nonsense(&self) -> Option<String>;
}

impl Described for RunRecord<Study, Arm> {
    fn nonsense(&self) -> Option<String> {
        let boots = self.reboot.as_ref().map_or(0, |reboot| reboot.boots.len());
        sizes(
            &self.study,
            self.reboot.as_ref().map(|reboot| reboot.rounds),
        )
        .or_else(|| more("arms", self.all_arms().count(), MOST_ARMS))
        .or_else(|| more("boots", boots, MOST_ITEMS))
        .or_else(|| services(self))
    }
}

impl Described for CommandRun {
    fn nonsense(&self) -> Option<String> {
        let study = &self.study;
        more_rounds(study.design.rounds)
            .or_else(|| as_a_file(study))
            .or_else(|| unknown_arm(study, &self.arms))
            .or_else(|| services(self))
    }
}

impl Described for SavedBench {
    fn nonsense(&self) -> Option<String> {
        let rounds = self.study.rounds_planned.unwrap_or(self.study.rounds.most);
        // The control and the shell come on top of the commands.
        more_rounds(rounds).or_else(|| more("commands", self.arms.len(), MOST_COMMANDS + 2))
    }
}

impl Described for SavedLoad {
    fn nonsense(&self) -> Option<String> {
        let study = &self.study;
        let (levels, rounds) = match &study.workload {
            LoadWorkload::Sweep { range, rounds } => (Level::all_of(range), *rounds),
            LoadWorkload::Capacity { .. } => (Vec::new(), 0),
        };
        let other = levels != self.arms;
        let other = other.then(|| "its levels are not those of what it sweeps".to_owned());
        other.or_else(|| more_rounds(rounds))
    }
}

/// Returns what a study asks for beyond what its file or a flag may ask for.
fn sizes(study: &Study, rounds_in_boots: Option<u32>) -> Option<String> {
    let (design, latency) = (&study.design, study.latency.as_ref());
    let whole = study.whole.as_ref().map(|whole| whole.confirm_rounds);
    let blocks = latency.map(|latency| latency.blocks);
    let rounds = [Some(design.rounds), whole, blocks, rounds_in_boots];
    let lengths = [
        Some(design.settle_ms),
        Some(design.score_ms),
        latency.map(|it| it.score_ms),
    ];
    let of_steps = study.steps.iter().filter_map(|step| step.workers);
    let workers = of_steps.chain(study.workload.workers.counts(1));
    let workers = workers.max().unwrap_or(1);
    let Workload {
        connections,
        threads,
        ..
    } = study.workload;
    rounds
        .into_iter()
        .flatten()
        .find_map(more_rounds)
        .or_else(|| {
            lengths
                .into_iter()
                .flatten()
                .find_map(|ms| beyond("ms", ms, LONGEST_MS))
        })
        .or_else(|| beyond("connections", connections, MOST_CONNECTIONS))
        .or_else(|| beyond("threads", threads, MOST_THREADS))
        .or_else(|| beyond("workers", workers, MOST_WORKERS))
        .or_else(|| more("steps", study.steps.len(), MOST_ITEMS))
        .or_else(|| more("looks", design.looks.len(), MOST_ITEMS))
}

fn more_rounds(rounds: u32) -> Option<String> {
    beyond("rounds", rounds, MOST_ROUNDS)
}

fn beyond(what: &str, count: u32, most: u32) -> Option<String> {
    (count > most).then(|| format!("it has {count} {what}, of which there are {most} at most"))
}

fn more(what: &str, count: usize, most: usize) -> Option<String> {
    (count > most).then(|| format!("it has {count} {what}, of which there are {most} at most"))
}

/// Checks the services, because their names become names of folders.
fn services<S, A>(run: &RunRecord<S, A>) -> Option<String> {
    let all = || run.service.iter().chain(&run.own_services);
    let wrong = |service: &ServiceRecord| service_spec::nonsense(&service.description);
    more("services", all().count(), MOST_ITEMS).or_else(|| all().find_map(wrong))
}

/// Returns what is wrong with a study of commands when it is read as a file. Its rounds are not
/// checked here, because a flag may set them.
fn as_a_file(study: &CommandStudy) -> Option<String> {
    let mut study = study.clone();
    study.design.rounds = study.design.rounds.min(MOST_ROUNDS_OF_A_FILE);
    let text = toml::to_string(&study).map_err(|error| error.to_string());
    let parsed = text.and_then(|text| spec::parse(&text, "").map_err(|error| error.what));
    parsed.err()
}

/// Finds an arm that is no combination of the study's levels, because its words would be put into
/// commands.
fn unknown_arm(study: &CommandStudy, arms: &[CommandArm]) -> Option<String> {
    let all = commands::arms::build(study, &std::collections::BTreeMap::default());
    let all = all.map_or_else(|_| Vec::new(), |built| built.arms);
    let is_known = |arm: &CommandArm| {
        // If programs are absent, another combination may be the baseline.
        let same = |known: &&CommandArm| known.levels == arm.levels;
        let name = all.iter().filter(|known| known.name != CONTROL).find(same);
        name.is_some_and(|known| arm.name == known.name || arm.name == CONTROL)
    };
    let unknown = arms.iter().find(|arm| !is_known(arm));
    let unknown = unknown.map(|arm| format!("its study has no combination `{}`", arm.name));
    unknown.or_else(|| more("arms", arms.len(), all.len()))
}
