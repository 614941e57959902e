//! Tests of whole commands that an environment variable makes longer than there is time for at each
//! commit.

use anyhow::ensure;

use super::{Lab, Proof};
use crate::target;

/// A test, and the environment variable that makes it longer.
pub(super) struct LongTest {
    claim: &'static str,
    test: &'static str,
    variable: (&'static str, &'static str),
    /// Text of the line that reports its success.
    says: &'static str,
}

/// Proves that rigs leave nothing behind.
pub(super) const RIGS: LongTest = LongTest {
    claim: "100 rigs up and down, something of 20 killed, leave interfaces, routes, namespaces, mounts, processes, \
            sysctls, journal, files and rules as they were",
    test: "rig::leaves_nothing::rigs_up_and_down_and_killed_leave_the_machine_as_it_was",
    variable: ("LINERATE_TEST_RIGS", "100,20"),
    says: "test result: ok. 1 passed",
};
/// Proves that a kill at any moment is undone.
pub(super) const KILLS: LongTest = LongTest {
    claim: "killed at every call that writes, of apply and of undo, every lever of a namespace or a device is put \
            back from the journal",
    test: "levers::killed::an_apply_or_undo_killed_at_any_call_leaves_nothing_that_undo_does_not_put_back",
    variable: ("LINERATE_TEST_LEVERS", "all"),
    // `23 levers, 600 kills, all restored`
    says: "all restored",
};

impl LongTest {
    pub(super) fn prove(&self, lab: &Lab) -> anyhow::Result<Proof> {
        let which = "test --quiet --package behaviour --test behaviour --profile";
        let only = ["--", "--exact", "--nocapture", self.test];
        let words: Vec<&str> = which
            .split(' ')
            .chain([target::PROFILE])
            .chain(only)
            .collect();
        let output = target::cargo(&words)
            .env("LINERATE_PROGRAM", &lab.linerate)
            .envs([self.variable])
            .output()?;
        let words = [output.stdout, output.stderr].concat();
        let words = String::from_utf8_lossy(&words);
        // If the test had another name, no test would run, and cargo would succeed.
        let ran = words.contains("1 passed") || words.contains("1 failed");
        ensure!(ran, "{words}");
        let said = words.lines().find(|line| line.contains(self.says));
        let said = said.filter(|_| output.status.success());
        Ok(Proof {
            claim: self.claim.to_owned(),
            held: said.is_some(),
            seen: said.unwrap_or(&words).to_owned(),
        })
    }
}
