//! `linerate role`: a process of ours on a host of a rig, or on another machine.

use std::process::ExitCode;
use std::time::Duration;

/// Do one thing on a host of a rig as standard input orders, until that ends
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// After so long it ends, whether its line holds or not
    #[arg(long, value_name = "SECONDS")]
    longest_s: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(seconds) = arguments.longest_s {
        end_after(Duration::from_secs(seconds))?;
    }
    agent::play(std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// A line that is cut where nobody sees it would leave us waiting for its end.
fn end_after(longest: Duration) -> std::io::Result<()> {
    let end = move || {
        std::thread::sleep(longest);
        std::process::exit(1);
    };
    std::thread::Builder::new().spawn(end).map(drop)
}
