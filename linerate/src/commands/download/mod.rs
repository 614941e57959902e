//! `linerate download`: a file from a server to clients, whatever programs both are.

mod arguments;
mod crossings;
pub(crate) mod json;
mod table;

use std::path::Path;
use std::process::ExitCode;

use agent::download::{DownloadOrder, Downloaded, download};
use model::Doubt;
use sys::stop::{Again, StopSignal};

use super::{limits, whole_machine};
use crate::console::Console;
use crate::failure::words;
use crate::ourselves::OURSELVES;
use crate::stopping;
use crate::zero_copy::Account;
pub(crate) use arguments::Arguments;
use crossings::FilePath;

/// More than this of the CPUs' time for others, and the sides may have waited for theirs.
const OTHERS_LIMIT_SHARE: f64 = 0.1;

/// What was asked for and how it went: what the pages show.
struct Report {
    order: DownloadOrder,
    /// The client's command as it was typed; `None` of our own.
    client: Option<String>,
    /// `None` of a server that is not ours.
    path: Option<FilePath>,
    went: Downloaded,
    /// That CPU times lack interrupts here.
    apart: Option<Doubt>,
}

impl Report {
    fn seconds(&self) -> f64 {
        self.went.window_ns.max(1) as f64 / 1e9
    }

    fn gbit_per_second(&self) -> f64 {
        self.went.bytes_per_second() * 8.0 / 1e9
    }

    /// Gbit/s for each percent that the server had of the time of all its CPUs.
    fn gbit_per_cpu_percent(&self) -> f64 {
        let side = &self.went.server;
        let all_ns = self.went.window_ns as f64 * side.cpus.len().max(1) as f64;
        let percent = side.cpu_ns.max(1) as f64 / all_ns * 100.0;
        self.gbit_per_second() / percent
    }

    fn scheme(&self) -> &'static str {
        match self.order.identity {
            Some(_) => "https",
            None => "http",
        }
    }

    /// What became of sends without a copy, from the server's start to its end.
    fn zero_copy(&self) -> Option<Account> {
        Account::of_the_end(&self.went.said_at_end)
    }

    fn full_sides(&self) -> Vec<&'static str> {
        let [client, server] = [&self.went.client, &self.went.server];
        limits::full_sides(client.busy_share, Some(server.busy_share))
    }

    fn doubts(&self) -> Vec<Doubt> {
        let shared = self.went.is_shared.then_some(Doubt::SharedCpus { cpus: 1 });
        let others = self.went.others_share;
        let others = others.filter(|share| *share > OTHERS_LIMIT_SHARE);
        let others = others.map(|cpu_share| Doubt::ForeignWork { cpu_share });
        let apart = self.apart.clone();
        [shared, others, apart].into_iter().flatten().collect()
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let order = arguments.order()?;
    // Both sides are to be ended whatever ends us.
    let stop = StopSignal::listen(Again::Kills)?;
    let went = download(Path::new(OURSELVES), &order);
    drop(stop);
    if let Some(signal) = sys::stop::heard() {
        console.error(&format!("stopped by {}", stopping::name(signal)));
        return Ok(stopping::exit_code(signal));
    }
    let report = Report {
        client: arguments.client.clone(),
        path: arguments.path(),
        went: went.map_err(words)?,
        apart: whole_machine::doubt(),
        order,
    };
    console.say(&if arguments.json {
        json::render(&report)
    } else {
        table::render(&report)
    });
    Ok(ExitCode::SUCCESS)
}
