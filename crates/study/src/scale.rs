//! Settles how many workers a study measures, once it is known how many CPUs the machine has for
//! them.

use model::Study;
use model::cpus::{CpuShare, Workers};
use model::study::{DesignKind, StepSpec};

use crate::campaign::{Campaign, CampaignError};
use crate::refusal::Refusal;
use crate::rehearsal;
use model::{Arm, Pace};

/// Settles the numbers of workers: one number for all arms, or a step for each number after the
/// first.
///
/// # Errors
/// If a comparison of workers has only one number to compare.
pub(crate) fn settle(study: &mut Study, cpus: &CpuShare) -> Result<(), Refusal> {
    let asked = std::mem::take(&mut study.workload.workers);
    let counts = asked.counts(cpus.server_cpus);
    let (first, further) = counts.split_first().unwrap_or((&1, &[]));
    study.workload.workers = Workers::Count(*first);
    if !asked.are_compared() {
        return Ok(());
    }
    if further.is_empty() {
        return Err(Refusal(format!(
            "there is one CPU for the server here ({}), so there is nothing to compare one worker with; \
             `--workers 1,2` has two share CPUs with the client, and `--server-cpus` gives the server \
             others",
            cpus.server
        )));
    }
    let title = |count: &u32| match count {
        1 => "1 worker".to_owned(),
        count => format!("{count} workers"),
    };
    study.design.kind = DesignKind::Compare;
    study.baseline.title = title(first);
    study.steps = further
        .iter()
        .map(|count| StepSpec {
            workers: Some(*count),
            ..StepSpec::named(format!("workers-{count}"), title(count))
        })
        .collect();
    Ok(())
}

impl Campaign<'_> {
    /// Gives the client enough threads that it is not the limit of the arm with the most workers,
    /// as far as there are CPUs for them. With one worker it has the threads that the study says.
    pub(crate) fn find_client_threads(
        &mut self,
        study: &mut Study,
        arms: &[Arm],
        cpus: &CpuShare,
    ) -> Result<(), CampaignError> {
        let one = study.workload.workers.counts(1)[0];
        let workers = |arm: &Arm| arm.workers.unwrap_or(one);
        let Some(largest) = arms.iter().max_by_key(|arm| workers(arm)) else {
            return Ok(());
        };
        let most = cpus.client_cpus.min(study.workload.connections);
        if workers(largest) == 1 || study.workload.threads >= most {
            return Ok(());
        }
        self.progress.phase("finding the client's threads");
        loop {
            let reading = self.block(study, &largest.name, Pace::Closed, rehearsal::SCORE_MS)?;
            if !reading.client_is_limit() || study.workload.threads >= most {
                return Ok(());
            }
            study.workload.threads = (2 * study.workload.threads).min(most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    fn study(workers: &str) -> Study {
        let mut study = catalogue::find("http-json").unwrap().study.load().unwrap();
        study.workload.workers = workers.parse().unwrap();
        study
    }

    fn cpus(server_cpus: u32) -> CpuShare {
        CpuShare {
            server_cpus,
            ..CpuShare::default()
        }
    }

    #[test]
    fn all_workers_are_those_of_the_machine_and_leave_the_steps_as_they_are() {
        let mut found = study("all");
        settle(&mut found, &cpus(4)).unwrap();
        assert_eq!(found.workload.workers, Workers::Count(4));
        assert_eq!(found.steps, study("1").steps);
    }

    #[test]
    fn each_further_number_is_a_step_beside_the_first() {
        let mut found = study("1,2,4");
        settle(&mut found, &cpus(4)).unwrap();
        let steps = found
            .steps
            .iter()
            .map(|step| (step.name.as_str(), step.workers));
        let expected = [("workers-2", Some(2)), ("workers-4", Some(4))];
        assert!(steps.eq(expected));
        assert_eq!(found.baseline.title, "1 worker");
        assert_eq!(found.design.kind, DesignKind::Compare);
    }

    #[test]
    fn where_the_server_has_one_cpu_there_is_nothing_to_scale() {
        let mut found = study("1");
        found.workload.workers = Workers::Named(model::cpus::NamedWorkers::Scale);
        let error = settle(&mut found, &cpus(1)).unwrap_err().to_string();
        assert!(error.contains("--workers 1,2"), "{error}");
    }
}
