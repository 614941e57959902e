//! The flags that say how much of a ladder is climbed, and how far its levers may reach.

use anyhow::{Context as _, ensure};
use model::Study;

/// Flags of studies whose steps set levers.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct LadderFlags {
    /// Climb the whole ladder: every step also alone and left out, and the last state confirmed
    ///
    /// Besides each step against the state before it: each step alone on the first state, pairs of
    /// steps that the study names, and then, of servers that are started anew, the last state
    /// against the first and against itself without each step. A step that made things worse is
    /// dropped from the last state. It takes a few times as long, on the study's rig for it.
    /// What a step lacks here is said by name: that of locality takes several workers (`--workers all`) and a
    /// card with several queues (`--hosts`, with `--host`). `--dry-run` says it beforehand.
    #[arg(long, help_heading = "Measuring")]
    pub(crate) whole: bool,
    /// End with what to do for the step that takes a reboot, such as mitigations=off
    ///
    /// All that takes no reboot is measured first, and the last state once more, twice. Then the run
    /// ends with what to do: the commands that have this machine start with the step, and those to go
    /// back. Linerate never reboots. After the reboot `linerate study resume` sees in /proc/cmdline
    /// and /sys/devices/system/cpu/vulnerabilities that the step was really taken, and measures the
    /// last state in that boot too. Two boots are no pairs, so this is an estimate and no verdict;
    /// each further reboot to and fro, and another `resume`, adds a boot. Without it, of such a step
    /// only a bound is told, a rough one, where the server is our own.
    #[arg(
        long,
        requires = "whole",
        help_heading = "Measuring",
        hide_short_help = true
    )]
    pub(crate) reboot: bool,
    /// Also set levers that reach this whole machine; each is put back when its blocks are over
    ///
    /// Without it, levers are set in network namespaces of our own only, and the steps that would
    /// reach further are left out by name. What is set is in the journal first, so that
    /// `linerate levers undo` puts it back after a crash.
    #[arg(long, help_heading = "Measuring", hide_short_help = true)]
    pub(crate) host: bool,
    /// Say which steps would be climbed and with what, which not and why; start no server and no load
    ///
    /// Of a study of commands it says what would be run, and runs nothing.
    #[arg(
        long,
        help_heading = "Measuring",
        conflicts_with = "json",
        hide_short_help = true
    )]
    pub(crate) dry_run: bool,
}

impl LadderFlags {
    /// For a study of commands, which climbs nothing.
    ///
    /// # Errors
    /// When anything of a ladder is asked for.
    pub(crate) fn refuse(self, study: &str) -> anyhow::Result<()> {
        ensure!(
            !(self.whole || self.reboot || self.host),
            "the study `{study}` runs commands and climbs no ladder; run it without --whole, --reboot and --host"
        );
        Ok(())
    }

    /// Has a study ask for as much as was asked for, on the rig for that.
    ///
    /// # Errors
    /// When it has no more than its climb.
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
