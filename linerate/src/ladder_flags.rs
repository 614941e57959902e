//! The flags that say how much of a ladder is climbed, and how far its levers may reach.

use anyhow::{Context as _, ensure};
use model::Study;

/// Flags of studies whose steps set levers.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct LadderFlags {
    /// Climb the whole ladder: every step also alone and left out, and the last state confirmed
    ///
    /// Besides each step against the state before it, it measures each step alone on the first
    /// state, and pairs of steps that the study names; then, with servers that are started again,
    /// the last state against the first and against itself without each step. A step that made
    /// things worse is dropped from the last state. It takes a few times as long, on the rig that
    /// the study names for it. What a step lacks here is reported by name: the step of locality
    /// needs several workers (`--workers all`) and a card with several queues (`--hosts`, with
    /// `--host`). `--dry-run` reports it beforehand.
    #[arg(long, help_heading = "Measuring")]
    pub(crate) whole: bool,
    /// End with what to do for the step that needs a reboot, such as mitigations=off
    ///
    /// All that needs no reboot is measured first, and the last state once more, twice. Then the
    /// run ends with what to do: the commands that make this machine start with the step, and those
    /// to go back. Linerate never reboots. After the reboot `linerate study resume` checks in
    /// /proc/cmdline and /sys/devices/system/cpu/vulnerabilities that the step really took effect,
    /// and measures the last state in that boot too. Two boots are not pairs, so this is an
    /// estimate and no verdict; each further reboot back and forth, with another `resume`, adds a
    /// boot. Without this flag such a step gets only a rough bound, and only if the server is our
    /// own.
    #[arg(
        long,
        requires = "whole",
        help_heading = "Measuring",
        hide_short_help = true
    )]
    pub(crate) reboot: bool,
    /// Also set levers that reach this whole machine; each is restored when its blocks are over
    ///
    /// Without it, levers are set only in network namespaces of our own, and the steps that would
    /// reach further are left out and named. Each setting is in the journal first, so that
    /// `linerate levers undo` restores it after a crash.
    #[arg(long, help_heading = "Measuring", hide_short_help = true)]
    pub(crate) host: bool,
    /// Say which steps would be climbed and with what, which not and why; start no server and no load
    ///
    /// For a study of commands it says what would be run, and runs nothing.
    #[arg(
        long,
        help_heading = "Measuring",
        conflicts_with = "json",
        hide_short_help = true
    )]
    pub(crate) dry_run: bool,
}

impl LadderFlags {
    /// Refuses these flags for a study of commands, which climbs no ladder.
    ///
    /// # Errors
    /// When any of them but `--dry-run` is given.
    pub(crate) fn refuse(self, study: &str) -> anyhow::Result<()> {
        ensure!(
            !(self.whole || self.reboot || self.host),
            "the study `{study}` runs commands and climbs no ladder; run it without --whole, --reboot and --host"
        );
        Ok(())
    }

    /// Sets how much of its ladder a study climbs, and the rig for that.
    ///
    /// # Errors
    /// When `--whole` is given and the study has no `[whole]`.
    pub(crate) fn apply(self, study: &mut Study) -> anyhow::Result<()> {
        if !self.whole {
            study.whole = None;
            return Ok(());
        }
        let name = &study.name;
        let whole = study.whole.as_ref();
        let whole = whole.with_context(|| {
            format!("the study `{name}` has no `[whole]`; run it without --whole")
        })?;
        study.rig = whole.rig;
        Ok(())
    }
}
