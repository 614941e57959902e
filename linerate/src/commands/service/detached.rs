//! `linerate service start --detach`: the same command once more, out of the terminal's reach.

use std::io::BufReader;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, anyhow};
use sys::process::ChildSetup;

use super::ready::Ready;
use crate::console::Console;

/// Starts the command that stays, and comes back once the service is ready or has failed. A signal
/// that asks us to stop before, or kills us, ends that command too.
pub(super) fn start(mut command: Command, json: bool, console: &Console) -> anyhow::Result<()> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    sys::process::prepare_keeper(&mut command, ChildSetup::default());
    // For as long as it has not been told of.
    sys::process::outlive_to_undo(&mut command);
    let mut stays = command.spawn().context("starting the process that stays")?;
    let said = stays.stdout.take().context("it has no standard output")?;
    let line = agent::next_line(&mut BufReader::new(said))?.unwrap_or_default();
    let Ok(ready) = serde_json::from_slice::<Ready>(&line) else {
        if sys::stop::heard().is_some() {
            let _ = sys::process::terminate(&stays);
        }
        return Err(last_words(stays));
    };
    console.say(&ready.shown(json));
    Ok(())
}

/// Why nothing came up, as it said itself.
fn last_words(mut stays: Child) -> anyhow::Error {
    let errors = stays.stderr.take();
    let words = errors.map(|errors| foreign::line::all(errors, foreign::line::MOST_BYTES));
    let words = words.and_then(Result::ok).unwrap_or_default();
    let _ = stays.wait();
    let words = words.trim();
    anyhow!(
        "{}",
        words.strip_prefix("linerate: ").unwrap_or(words).to_owned()
    )
}
