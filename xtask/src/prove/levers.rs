//! A kill at any moment is undone: the test of that name, with every lever of a namespace or a device.

use super::{Lab, Proof, long_test};

const TEST: &str =
    "killed::an_apply_or_undo_killed_at_any_call_leaves_nothing_that_undo_does_not_put_back";

pub(crate) fn kills_are_undone(_lab: &Lab) -> anyhow::Result<Proof> {
    let ran = long_test::run("levers", TEST, "LINERATE_TEST_LEVERS", "all")?;
    // `23 levers, 600 kills, all restored`
    let count = ran
        .words
        .lines()
        .find(|line| line.ends_with("all restored"));
    Ok(Proof {
        claim:
            "killed at every call that writes, of apply and of undo, every lever of a namespace \
                or a device is put back from the journal"
                .to_owned(),
        seen: match count.filter(|_| ran.held) {
            Some(count) => format!("{count}, after {:.0} s", ran.seconds),
            None => ran.words.clone(),
        },
        held: ran.held && count.is_some(),
    })
}
