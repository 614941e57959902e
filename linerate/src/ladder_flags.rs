//! The flags that say how much of a ladder is climbed, and how far its levers may reach.

/// Flags of studies whose steps set levers.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct LadderFlags {
    /// Also set levers that reach this whole machine; each is put back after its block
    ///
    /// Without it, levers are set in network namespaces of our own only, and the steps that would
    /// reach further are left out by name. What is set is in the journal first, so that
    /// `linerate levers undo` puts it back after a crash.
    #[arg(long, help_heading = "Measuring", hide_short_help = true)]
    pub(crate) host: bool,
}

impl LadderFlags {
    /// The flags again, for the command that repeats a run.
    pub(crate) fn words(self) -> &'static str {
        if self.host { " --host" } else { "" }
    }
}
