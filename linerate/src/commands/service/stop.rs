//! `linerate service stop`.

use agent::service::register::{Register, Stopped};
use anyhow::anyhow;
use serde_json::json;

use super::{FORMAT, words};
use crate::console::Console;

pub(super) fn run(name: &str, as_json: bool, console: &Console) -> anyhow::Result<()> {
    let stopped = Register::here().and_then(|register| register.stop(name));
    let stopped = stopped.map_err(|failure| anyhow!("{}", words(&failure)))?;
    let (outcome, text) = match stopped {
        Stopped::Ended => ("ended", format!("{name} has ended, and its folder is gone")),
        Stopped::Failed(why) => ("failed", format!("{name} had ended unasked: {why}")),
        Stopped::Cleared => (
            "cleared",
            format!("{name} was left by a crash; what was left of it is gone"),
        ),
    };
    console.say(&if as_json {
        json!({ "format": FORMAT, "service": name, "outcome": outcome }).to_string()
    } else {
        text
    });
    Ok(())
}
