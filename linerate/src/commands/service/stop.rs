//! `linerate service stop`.

use agent::service::register::{Register, Stopped};
use schemars::JsonSchema;
use serde::Serialize;

use crate::console::Console;
use crate::failure::words;
use crate::shape;

/// What became of a service that was asked to stop.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ServiceStop {
    /// Name of the service.
    service: String,
    /// `ended`: it ran and has ended; `failed`: it had already ended on its own; `cleared`: a crash
    /// had left remains of it, which are now removed.
    #[schemars(extend("enum" = ["ended", "failed", "cleared"]))]
    outcome: &'static str,
}

pub(super) fn run(service: &str, as_json: bool, console: &Console) -> anyhow::Result<()> {
    let name = study::pinned::name_of(service);
    let stopped = Register::here().and_then(|register| register.stop(&name));
    let stopped = stopped.map_err(words)?;
    let (outcome, text) = match stopped {
        Stopped::Ended => ("ended", format!("{name} has ended, and its folder is gone")),
        Stopped::Failed(why) => ("failed", format!("{name} had ended on its own: {why}")),
        Stopped::Cleared => (
            "cleared",
            format!("{name} was left by a crash; its remains are removed"),
        ),
    };
    console.say(&if as_json {
        shape::line(ServiceStop {
            service: name,
            outcome,
        })
    } else {
        text
    });
    Ok(())
}
