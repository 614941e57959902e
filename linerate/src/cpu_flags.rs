//! The flags that say how many workers a target has, and which CPUs each end uses.

use anyhow::ensure;
use model::Study;
use model::cpus::{CpuWish, NamedWorkers, Side, Workers};

/// Flags of studies that start their targets.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct CpuFlags {
    /// Workers of the target: a number, `all` for one per server CPU, or 1,2,4 to compare
    ///
    /// Each worker has a CPU of its own while there are enough: by default the server gets half of
    /// the cores of one memory node, the client the others. Further workers share CPUs with the
    /// client, which is reported as a doubt. The client uses as many threads as it needs not to be
    /// the limit, up to the number of its CPUs.
    #[arg(
        long,
        value_name = "N",
        help_heading = HEADING,
        hide_short_help = true
    )]
    workers: Option<Workers>,
    /// How does it scale? One worker against 2, 3, 4 … up to all, instead of the study's steps
    ///
    /// All numbers of workers are measured in one run, in blocks of random order. If there are six
    /// or more, the Universal Scalability Law is fitted: what contention and crosstalk cost, and
    /// from how many workers on more bring nothing.
    #[arg(
        long,
        conflicts_with = "workers",
        help_heading = HEADING
    )]
    scale: bool,
    /// CPUs of the server, such as 0-3,8, instead of those that are chosen for it
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
    /// Returns the CPUs asked for, for each end.
    pub(crate) fn wish(&self) -> CpuWish {
        CpuWish {
            server: self.server_cpus.clone(),
            client: self.client_cpus.clone(),
            side: Side::Both,
        }
    }

    /// Sets a study's workers; where several numbers are compared, they replace its steps.
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

    /// Refuses these flags for a study of commands, which starts no servers.
    ///
    /// # Errors
    /// When any of these flags is given.
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
