//! Where tests set levers and put them back. Each takes those that it is said to have from `linerate levers
//! list --json`, or is held against that list (`behaviour/tests/levers/page.rs`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Lever;

/// A place where tests set a lever, look at it and put it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestBench {
    /// A network namespace of whatever machine the tests run on (`behaviour/tests/levers/each.rs`).
    Here,
    /// A virtual machine with a kernel and a card of its own (`xtask/src/vm/proofs`: `levers.sh`, `ktls.sh`,
    /// `shares.sh`).
    Guest,
    /// There, by what a person would do (`xtask/src/vm/proofs/audit.sh`).
    ByHand,
    /// A folder of files (`carry/tests/planted.rs`).
    Planted,
    /// A program that is started with it, and takes it along when it ends
    /// (`behaviour/tests/levers/programs.rs`).
    Program,
    /// Our own server, which takes it along when it ends (`behaviour/tests/serve`).
    Server,
    /// Our own ends of UDP, which take it along when they end (`behaviour/tests/link/packets.rs`).
    Packets,
    /// An emulated machine that is started without it and with it (`xtask/src/prove/two_boots.rs`).
    Reboot,
}

impl TestBench {
    fn words(self) -> &'static str {
        match self {
            Self::Here => "here, in a network namespace",
            Self::Guest => "in a virtual machine",
            Self::ByHand => "by hand in a virtual machine",
            Self::Planted => "on planted files alone, never on a machine that has it",
            Self::Program => "with a program, which takes it along when it ends",
            Self::Server => "with our own server, which takes it along when it ends",
            Self::Packets => "with `linerate packets`, which takes it along when it ends",
            Self::Reboot => "over a reboot of an emulated machine, by `cargo xtask prove boot`",
        }
    }

    /// Whether what is seen there is set by others than us.
    pub(super) fn is_of_others(self) -> bool {
        matches!(self, Self::ByHand | Self::Reboot)
    }
}

impl Lever {
    /// Where tests set it, for a reader.
    pub fn tested_words(&self) -> String {
        let places: Vec<&str> = self.tested_in.iter().map(|bench| bench.words()).collect();
        match (places.as_slice(), &self.untested) {
            ([], None) => "never applied in a test".to_owned(),
            ([], Some(why)) => format!("never applied in a test: {why}"),
            (places, _) => {
                let is_of_others = self.tested_in.iter().any(|bench| bench.is_of_others());
                let how = match is_of_others {
                    true => "seen to take hold",
                    false => "applied and restored in a test",
                };
                format!("{how} {}", places.join(", and "))
            }
        }
    }
}
