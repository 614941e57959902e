//! Tests of whole commands that a variable makes longer than a commit has time for.

use anyhow::ensure;

use super::{Lab, Proof};
use crate::target;

const RIGS: u32 = 100;
const KILLED: u32 = 20;

/// Rigs leave nothing behind: with more of them than a commit has time for.
pub(crate) fn rigs_leave_the_machine_as_it_was(lab: &Lab) -> anyhow::Result<Proof> {
    let test = "rig::leaves_nothing::rigs_up_and_down_and_killed_leave_the_machine_as_it_was";
    let size = format!("{RIGS},{KILLED}");
    let (held, words) = run(lab, test, ("LINERATE_TEST_RIGS", &size))?;
    Ok(Proof {
        claim: format!(
            "{RIGS} rigs up and down, something of {KILLED} killed, leave interfaces, routes, \
             namespaces, mounts, processes, sysctls, journal, files and rules as they were"
        ),
        seen: match held {
            true => "no difference".to_owned(),
            false => words,
        },
        held,
    })
}

/// A kill at any moment is undone, with every lever of a namespace or a device.
pub(crate) fn kills_are_undone(lab: &Lab) -> anyhow::Result<Proof> {
    let test = "levers::killed::an_apply_or_undo_killed_at_any_call_leaves_nothing_that_undo_does_not_put_back";
    let (held, words) = run(lab, test, ("LINERATE_TEST_LEVERS", "all"))?;
    // `23 levers, 600 kills, all restored`
    let mut lines = words.lines();
    let count = lines.find(|line| line.ends_with("all restored"));
    Ok(Proof {
        claim: "killed at every call that writes, of apply and of undo, every lever of a \
                namespace or a device is put back from the journal"
            .to_owned(),
        held: held && count.is_some(),
        seen: count.filter(|_| held).unwrap_or(&words).to_owned(),
    })
}

/// Runs one test with a variable set: whether it passed, and what it printed.
fn run(lab: &Lab, test: &str, variable: (&str, &str)) -> anyhow::Result<(bool, String)> {
    let which = [
        "test",
        "--quiet",
        "--package",
        "behaviour",
        "--test",
        "behaviour",
    ];
    let only = [
        "--profile",
        target::PROFILE,
        "--",
        "--exact",
        "--nocapture",
        test,
    ];
    let output = target::cargo(&[&which[..], &only].concat())
        .env("LINERATE_PROGRAM", &lab.linerate)
        .envs([variable])
        .output()?;
    let words = [&output.stdout[..], &output.stderr].concat();
    let words = String::from_utf8_lossy(&words).into_owned();
    // A test under another name would be none, and pass.
    let ran = words.contains("1 passed") || words.contains("1 failed");
    ensure!(ran, "{words}");
    Ok((output.status.success(), words))
}
