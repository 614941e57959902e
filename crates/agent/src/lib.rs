//! One host's hands: starts targets, sets levers, drives load and reads instruments on request,
//! a JSON line each way, and undoes everything when its input ends.
//!
//! It plans nothing and judges nothing.

mod block;
mod children;
pub mod command;
mod desk;
mod live;
mod target;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use model::message::Failure;
use model::{Ask, Tell};

use desk::Desk;

/// How an agent is set up by whoever starts it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The Linerate program, started again for the servers.
    pub program: PathBuf,
    pub linerate_version: String,
    /// Work in a network namespace of our own where the kernel allows it.
    pub private_namespace: bool,
}

/// Answers asks until the input ends; then stops its servers and takes its levers back.
///
/// # Errors
/// When the line itself breaks. What cannot be done is told, not returned.
pub fn answer(setup: Setup, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut desk = Desk::new(setup);
    for line in input.lines() {
        let tell = match serde_json::from_str::<Ask>(&line?) {
            Ok(ask) => desk.handle(ask).unwrap_or_else(Tell::Failed),
            Err(error) => Tell::Failed(Failure {
                what: format!("not an ask: {error}"),
                advice: "both ends must be of one version".to_owned(),
            }),
        };
        serde_json::to_writer(&mut output, &tell)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}
