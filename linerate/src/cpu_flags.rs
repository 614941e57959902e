//! The flags that say how many workers a target has, and which CPUs each end.

use anyhow::ensure;
use model::Study;
use model::cpus::{CpuWish, NamedWorkers, Side, Workers};

/// Flags of studies that start their targets.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct CpuFlags {
    /// Workers of the target: a number, `all` for one a CPU of the server, or 1,2,4 to compare
    ///
    /// Each worker has a CPU of its own as far as there are any: by default the server gets half of the cores of
    /// one memory node, the client the others. Workers beyond these share CPUs with the client, which is
    /// doubted. The client takes as many threads as it needs not to be the limit, as far as it has CPUs.
    #[arg(
        long,
        value_name = "N",
        help_heading = HEADING,
        hide_short_help = true
    )]
    workers: Option<Workers>,
    /// How does it scale? One worker beside 2, 3, 4 … up to all, in the place of the study's steps
    ///
    /// All numbers are measured in one run, in blocks of random order, and the Universal Scalability Law is fitted
    /// where there are six or more: what contention and crosstalk cost, and from how many workers on more bring
    /// nothing.
    #[arg(
        long,
        conflicts_with = "workers",
        help_heading = HEADING
    )]
    scale: bool,
    /// CPUs of the server, such as 0-3,8, in the place of those that are chosen for it
    #[arg(
        long,
        value_name = "LIST",
        help_heading = HEADING,
        hide_short_help = true
    )]
    server_cpus: Option<String>,
    /// CPUs of the client
    #[arg(
        long,
        value_name = "LIST",
        help_heading = HEADING,
        hide_short_help = true
    )]
    client_cpus: Option<String>,
}

const HEADING: &str = "Workers and CPUs";

impl CpuFlags {
    /// What was asked for each end.
    pub(crate) fn wish(&self) -> CpuWish {
        CpuWish {
            server: self.server_cpus.clone(),
            client: self.client_cpus.clone(),
            side: Side::Both,
        }
    }

    /// Has a study measure so many workers; where several are compared, in the place of its steps.
    pub(crate) fn apply(&self, study: &mut Study) {
        let scale = || Workers::Named(NamedWorkers::Scale);
        let asked = self.workers.clone();
        let Some(workers) = asked.or_else(|| self.scale.then(scale)) else {
            return;
        };
        if workers.are_compared() {
            study.steps.clear();
            study.latency = None;
            study.whole = None;
            study.floor = false;
            study.source = None;
            "How does the throughput of {target} grow with its workers?"
                .clone_into(&mut study.question);
        }
        study.workload.workers = workers;
    }

    /// For a study of commands, which serves nothing.
    ///
    /// # Errors
    /// When anything of a server is asked for.
    pub(crate) fn refuse(&self, study: &str) -> anyhow::Result<()> {
        let has_cpus = self.server_cpus.is_some() || self.client_cpus.is_some();
        ensure!(
            !(self.workers.is_some() || self.scale || has_cpus),
            "the study `{study}` runs commands and starts no servers; run it without --workers, --scale, \
             --server-cpus and --client-cpus"
        );
        Ok(())
    }
}
