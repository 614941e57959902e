//! A step that takes a reboot: how a person makes it, and the boots in which the last state of a
//! ladder was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::run::MOST_ROUNDS;
use crate::study::Arm;

/// How a kernel was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Boot {
    /// The kernel's random identifier of this boot (`/proc/sys/kernel/random/boot_id`); it
    /// identifies no person.
    pub boot_id: String,
    /// Build of the kernel's release (`/proc/sys/kernel/version`): two updates of a distribution
    /// may have the same release.
    pub kernel_build: String,
    /// Options of its command line that affect speed, in order; the others may be secrets and are
    /// left out.
    pub options: Vec<String>,
}

impl Boot {
    /// Returns the last option that decides what `wanted` does, such as `mitigations=auto` for
    /// `mitigations=off`: the kernel obeys the last one.
    pub fn settles(&self, wanted: &str) -> Option<&str> {
        let mut from_the_last = self.options.iter().rev();
        let found = from_the_last.find(|option| name(option) == name(wanted));
        found.map(String::as_str)
    }

    /// Returns the option that overrules `wanted` by coming after it. `None` where `wanted` is
    /// absent or holds.
    pub fn overrules(&self, wanted: &str) -> Option<&str> {
        let has_it = self.options.iter().any(|option| option == wanted);
        self.settles(wanted)
            .filter(|last| has_it && *last != wanted)
    }

    /// Returns its options without those that decide what `wanted` does.
    pub fn others<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = &'a String> {
        let options = self.options.iter();
        options.filter(move |option| name(option) != name(wanted))
    }
}

fn name(option: &str) -> &str {
    option.split('=').next().unwrap_or_default()
}

/// How a person makes this machine start with an option of the kernel, and without it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootChange {
    /// What starts the kernel, as far as it is known; words that follow "with" in a sentence.
    pub loader: String,
    /// Commands or sentences that set the option, in order; the reboot itself is left out.
    pub make: Vec<String>,
    /// Commands or sentences that remove the option again, in order.
    pub undo: Vec<String>,
    /// What the option may lead to, worded as the rest of a sentence.
    pub warning: String,
}

/// What an agent reports about its machine's boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootTell {
    /// The present boot.
    pub boot: Boot,
    /// How a person starts the machine with another option.
    pub change: BootChange,
}

/// The step of a ladder that takes a reboot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reboot {
    /// Name of the step.
    pub step: String,
    /// Option that the kernel's command line must have, such as `mitigations=off`.
    pub option: String,
    /// How the machine is started with the option.
    pub change: BootChange,
    /// How the kernel was started when the run began.
    pub first: Boot,
    /// The last state twice, one of them as the control; empty until the last state is determined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<Arm>,
    /// Rounds of these arms in each boot.
    pub rounds: u32,
    /// The boots in which the last state was measured, in order; the numbers of rounds run on
    /// through all boots. Absent for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boots: Vec<MeasuredBoot>,
}

/// A boot in which the measurement of the last state was at least begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredBoot {
    /// How the kernel was started.
    pub boot: Boot,
    /// Whether the step was taken in this boot.
    pub has_step: bool,
    /// Facts of the server's host in this boot.
    pub facts: Facts,
}

impl Reboot {
    /// Returns the numbers of the rounds that belong to a boot, by the boot's index.
    pub fn rounds_of(&self, boot: usize) -> std::ops::Range<u32> {
        let boot = u32::try_from(boot).unwrap_or(u32::MAX);
        let rounds = self.rounds.min(MOST_ROUNDS);
        let first = boot.saturating_mul(rounds);
        first..first.saturating_add(rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_option_of_a_name_settles_it_and_others_are_left_alone() {
        let boot = Boot {
            options: ["mitigations=off", "isolcpus=1", "mitigations=auto,nosmt"]
                .map(str::to_owned)
                .to_vec(),
            ..Boot::default()
        };
        let settles = |wanted| boot.settles(wanted);
        assert_eq!(settles("mitigations=off"), Some("mitigations=auto,nosmt"));
        assert_eq!(settles("nosmt"), None);
        let overrules = |wanted| boot.overrules(wanted);
        assert_eq!(overrules("mitigations=off"), Some("mitigations=auto,nosmt"));
        assert_eq!(overrules("mitigations=auto,nosmt"), None);
        assert_eq!(overrules("mitigations=auto"), None);
        assert_eq!(
            boot.others("mitigations=off").collect::<Vec<_>>(),
            ["isolcpus=1"]
        );
    }
}
