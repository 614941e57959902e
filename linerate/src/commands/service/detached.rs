//! `linerate service start --detach`: runs the same command again, detached from the terminal.

use std::io::BufReader;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, anyhow};
use sys::process::ChildSetup;

use super::ready::Ready;
use crate::console::Console;

/// Starts the command that stays in the background, and returns once the service is ready or has
/// failed. A signal that stops or kills us before then ends that command too.
pub(super) fn start(mut command: Command, json: bool, console: &Console) -> anyhow::Result<()> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    sys::process::prepare_keeper(&mut command, ChildSetup::default());
    // Until the caller was told that it is ready, it ends with us.
    sys::process::outlive_to_undo(&mut command);
    let mut keeper = command.spawn().context("starting the process that stays")?;
    let said = keeper.stdout.take().context("it has no standard output")?;
    let line = agent::next_line(&mut BufReader::new(said))?.unwrap_or_default();
    let Ok(ready) = serde_json::from_slice::<Ready>(&line) else {
        if sys::stop::heard().is_some() {
            let _ = sys::process::terminate(&keeper);
        }
        return Err(last_words(keeper));
    };
    console.say(&ready.shown(json));
    Ok(())
}

/// Returns why the service did not come up, in the words of the process that was to keep it.
fn last_words(mut keeper: Child) -> anyhow::Error {
    let errors = keeper.stderr.take();
    let words = errors.map(|errors| foreign::line::all(errors, foreign::line::MOST_BYTES));
    let words = words.and_then(Result::ok).unwrap_or_default();
    let _ = keeper.wait();
    let words = words.trim();
    anyhow!(
        "{}",
        words.strip_prefix("linerate: ").unwrap_or(words).to_owned()
    )
}
