//! Where tests set levers and put them back. A test takes the levers of its place from
//! `linerate levers list --json`, or is checked against that list
//! (`behaviour/tests/levers/page.rs`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Lever;

/// A place where tests set a lever, look at it and put it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestBench {
    /// A network namespace of the machine that the tests run on (`behaviour/tests/levers/each.rs`).
    Here,
    /// A virtual machine with a kernel and a card of its own (`xtask/src/vm/proofs`: `levers.sh`, `ktls.sh`,
    /// `shares.sh`).
    Guest,
    /// A virtual machine, where the steps that a person would take are carried out
    /// (`xtask/src/vm/proofs/audit.sh`).
    ByHand,
    /// A folder of files that imitate a machine (`carry/tests/planted.rs`).
    Planted,
    /// A program that is started with the lever, whose setting ends with it
    /// (`behaviour/tests/levers/programs.rs`).
    Program,
    /// Our own server, whose setting ends with it (`behaviour/tests/serve`).
    Server,
    /// Our own ends of UDP, whose setting ends with them (`behaviour/tests/link/packets.rs`).
    Packets,
    /// An emulated machine that is started without the lever and with it
    /// (`xtask/src/prove/two_boots.rs`).
    Reboot,
}

impl TestBench {
    fn words(self) -> &'static str {
        match self {
            Self::Here => "here, in a network namespace",
            Self::Guest => "in a virtual machine",
            Self::ByHand => "by hand in a virtual machine",
            Self::Planted => "only on planted files, never on a machine that has it",
            Self::Program => "with a program, whose end undoes it",
            Self::Server => "with our own server, whose end undoes it",
            Self::Packets => "with `linerate packets`, whose end undoes it",
            Self::Reboot => "over a reboot of an emulated machine, by `cargo xtask prove boot`",
        }
    }

    /// Whether others than us set the lever there, so that the test only looks at the result.
    pub(super) fn is_of_others(self) -> bool {
        matches!(self, Self::ByHand | Self::Reboot)
    }
}

impl Lever {
    /// Describes for a reader where tests set this lever.
    pub fn tested_words(&self) -> String {
        let places: Vec<&str> = self.tested_in.iter().map(|bench| bench.words()).collect();
        match (places.as_slice(), &self.untested) {
            ([], None) => "never applied in a test".to_owned(),
            ([], Some(why)) => format!("never applied in a test: {why}"),
            (places, _) => {
                let is_of_others = self.tested_in.iter().any(|bench| bench.is_of_others());
                let how = match is_of_others {
                    true => "seen to take effect",
                    false => "applied and restored in a test",
                };
                format!("{how} {}", places.join(", and "))
            }
        }
    }
}
