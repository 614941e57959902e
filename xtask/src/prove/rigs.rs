//! Rigs leave nothing behind: the test of that name, with more of them than a commit has time for.

use anyhow::ensure;

use super::{Lab, Proof};
use crate::{target, tests_run};

const TEST: &str = "leaves_nothing::rigs_up_and_down_and_killed_leave_the_machine_as_it_was";
const RIGS: u32 = 100;
const KILLED: u32 = 20;

pub(crate) fn rigs_leave_the_machine_as_it_was(_lab: &Lab) -> anyhow::Result<Proof> {
    let begun = sys::clock::now();
    let test = ["test", "--quiet", "--package", "linerate", "--test", "rig"];
    let only = ["--profile", tests_run::PROFILE, "--", "--exact", TEST];
    let output = target::cargo(&[&test[..], &only].concat())
        .env("LINERATE_TEST_RIGS", format!("{RIGS},{KILLED}"))
        .output()?;
    let words = String::from_utf8_lossy(&output.stdout);
    // A test under another name would be none, and pass.
    let ran = words.contains("1 passed") || words.contains("1 failed");
    ensure!(ran, "{words}{}", String::from_utf8_lossy(&output.stderr));
    let held = output.status.success();
    Ok(Proof {
        claim: format!(
            "{RIGS} rigs up and down, something of {KILLED} killed, leave interfaces, routes, \
             namespaces, mounts, processes, sysctls, journal, files and rules as they were"
        ),
        seen: match held {
            true => format!(
                "no difference, after {:.0} s",
                begun.elapsed().as_secs_f64()
            ),
            false => words.into_owned(),
        },
        held,
    })
}
