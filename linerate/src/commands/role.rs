//! `linerate role`: a process of ours on a host of a rig, or on another machine.

use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;
use std::time::Duration;

use agent::held_line::{HeldLine, heard_to_its_end};

/// Do one thing on a host of a rig as commanded on standard input, until that ends
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// On another machine: no input for this long means that the line is cut
    #[arg(long, value_name = "SECONDS")]
    silence_limit_s: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let input = File::from(sys::standard_input::take()?);
    let input = match arguments.silence_limit_s.map(Duration::from_secs) {
        None => heard_to_its_end(input)?,
        Some(limit) => heard_to_its_end(HeldLine::new(input, limit)?)?,
    };
    agent::play(BufReader::new(input), std::io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}
