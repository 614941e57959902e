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
    /// The number that the kernel gave itself (`/proc/sys/kernel/random/boot_id`): of this start
    /// alone, and of nobody's name.
    pub boot_id: String,
    /// Which build of its release the kernel is (`/proc/sys/kernel/version`): two updates of a
    /// distribution may be of one release.
    pub kernel_build: String,
    /// The options of its command line that bear on speed, in order; others may be secrets.
    pub options: Vec<String>,
}

impl Boot {
    /// The last of its options that settles what `wanted` does, such as `mitigations=auto` for
    /// `mitigations=off`: the kernel goes by the last one.
    pub fn settles(&self, wanted: &str) -> Option<&str> {
        let mut from_the_last = self.options.iter().rev();
        let found = from_the_last.find(|option| name(option) == name(wanted));
        found.map(String::as_str)
    }

    /// The option that overrules `wanted`, which it has, by coming after it.
    pub fn overrules(&self, wanted: &str) -> Option<&str> {
        let has_it = self.options.iter().any(|option| option == wanted);
        self.settles(wanted)
            .filter(|last| has_it && *last != wanted)
    }

    /// Its options without those that settle what `wanted` does.
    pub fn others<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = &'a String> {
        let options = self.options.iter();
        options.filter(move |option| name(option) != name(wanted))
    }
}

fn name(option: &str) -> &str {
    option.split('=').next().unwrap_or_default()
}

/// How a person has this machine start with an option of the kernel, and without it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootChange {
    /// What starts the kernel, as far as it is known; words that go on after "by".
    pub loader: String,
    /// Commands or sentences, in order; the reboot itself is left out.
    pub make: Vec<String>,
    /// Commands or sentences to go back, in order.
    pub undo: Vec<String>,
    /// What may come of it, as a sentence goes on.
    pub warning: String,
}

/// What an agent tells of its machine's boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootTell {
    /// This boot.
    pub boot: Boot,
    /// How another comes about.
    pub change: BootChange,
}

/// The step of a ladder that takes a reboot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reboot {
    /// Name of the step.
    pub step: String,
    /// What the command line of the kernel must have, such as `mitigations=off`.
    pub option: String,
    /// How the machine is started with it.
    pub change: BootChange,
    /// How the kernel was started when the run began.
    pub first: Boot,
    /// The last state twice, of which one is the control; empty until it is settled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<Arm>,
    /// Rounds of these in each boot.
    pub rounds: u32,
    /// The boots in which the last state was measured, in order; the rounds of blocks count on
    /// through them; absent for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boots: Vec<MeasuredBoot>,
}

/// A boot in which the last state was measured, or began to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredBoot {
    /// How the kernel was started.
    pub boot: Boot,
    /// Whether the step was taken in it.
    pub has_step: bool,
    /// Of the server's host in this boot.
    pub facts: Facts,
}

impl Reboot {
    /// The rounds of blocks that are of a boot, by its place among them.
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
