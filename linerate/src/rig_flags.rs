//! The flags that choose the hosts and links of a run.

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use model::study::RigKind;

/// Flags of what can run on several hosts.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct RigFlags {
    /// Hosts and links to measure on, instead of the study's own
    ///
    /// `loopback`: client and server on one loopback, in a network namespace of our own where the
    /// kernel allows it. `netns`: a namespace each, joined by a pair of virtual devices. `router`: a
    /// third between them forwards. `tunnel`: the same with a tunnel over it.
    #[arg(long, value_name = "RIG", value_parser = kinds())]
    pub(crate) rig: Option<RigKind>,
}

impl RigFlags {
    /// The flags again, for the command that repeats a run.
    pub(crate) fn words(&self) -> String {
        self.rig
            .map_or_else(String::new, |rig| format!(" --rig {}", rig.name()))
    }
}

fn kinds() -> impl clap::builder::TypedValueParser<Value = RigKind> {
    let kind = |name: String| RigKind::ALL.into_iter().find(|kind| kind.name() == name);
    PossibleValuesParser::new(RigKind::ALL.map(RigKind::name))
        .try_map(move |name| kind(name).ok_or("no rig of that name"))
}
