//! The flags that say what is written for each interval of a load.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::ensure;
use clap::{ArgGroup, ValueHint};

use crate::commands::load::OUTPUT;
use crate::values;

/// Standard output, by its usual name on command lines.
const STANDARD_OUTPUT: &str = "-";

#[derive(clap::Args)]
#[command(group = ArgGroup::new("intervals").args(["csv", "hlog"]).multiple(true))]
pub(in crate::commands::load) struct WatchFlags {
    /// Write a line of figures for each second of the scored window, comma-separated
    ///
    /// The first line names the columns, with their units: counts, throughput, failures by kind,
    /// quantiles. A quantile with fewer than ten requests beyond it is empty. Lines are written
    /// while the load goes on, which is therefore not repeated where throughput settles late. With
    /// `-` they go to standard output, and the page to standard error.
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath, conflicts_with_all = ["slo", "sweep"], hide_short_help = true, help_heading = OUTPUT)]
    csv: Option<PathBuf>,
    /// Write the latency of each second as a log of HdrHistogram, in nanoseconds
    ///
    /// Lines without a tag hold what the page shows first: response times in open loop, service
    /// times in closed loop. In open loop there are also lines tagged `service` and `lateness`. The
    /// intervals add up to the distributions of the page. Precision is two digits.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["slo", "sweep", "throughput", "download"], hide_short_help = true, help_heading = OUTPUT)]
    pub(super) hlog: Option<PathBuf>,
    /// Length of the intervals of --csv and --hlog
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_interval, requires = "intervals", hide_short_help = true, help_heading = OUTPUT)]
    interval: Duration,
}

/// Where the lines of figures go.
pub(super) enum CsvTo<'a> {
    StandardOutput,
    File(&'a Path),
}

impl WatchFlags {
    /// Checks that standard output, and each file, is asked for by one flag only.
    pub(in crate::commands::load) fn check(&self, json: bool) -> anyhow::Result<()> {
        ensure!(
            !(json && self.takes_standard_output()),
            "--json and `--csv -` both want standard output: name a file for --csv"
        );
        if let (Some(csv), Some(hlog)) = (&self.csv, &self.hlog) {
            let place = |file: &Path| std::path::absolute(file).ok();
            ensure!(
                place(csv) != place(hlog),
                "--csv and --hlog both want `{}`: give each a file of its own",
                csv.display()
            );
        }
        Ok(())
    }

    /// Whether anything is written for intervals.
    pub(in crate::commands::load) fn writes(&self) -> bool {
        self.csv.is_some() || self.hlog.is_some()
    }

    /// Whether standard output is taken by lines of figures.
    pub(in crate::commands::load) fn takes_standard_output(&self) -> bool {
        matches!(self.csv(), Some(CsvTo::StandardOutput))
    }

    pub(super) fn csv(&self) -> Option<CsvTo<'_>> {
        self.csv.as_deref().map(|file| match file.to_str() {
            Some(STANDARD_OUTPUT) => CsvTo::StandardOutput,
            _ => CsvTo::File(file),
        })
    }

    pub(super) fn interval_ns(&self) -> u64 {
        u64::try_from(self.interval.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Parses the length of intervals. For shorter ones the time of a cut would vary by more than their
/// length.
fn parse_interval(text: &str) -> Result<Duration, String> {
    const SHORTEST: Duration = Duration::from_millis(10);
    let interval = values::parse_duration(text)?;
    match interval >= SHORTEST {
        true => Ok(interval),
        false => Err(format!("`{text}` is too short: the shortest is 10ms")),
    }
}
