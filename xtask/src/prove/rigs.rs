//! Rigs leave nothing behind: the test of that name, with more of them than a commit has time for.

use super::{Lab, Proof, long_test};

const TEST: &str = "leaves_nothing::rigs_up_and_down_and_killed_leave_the_machine_as_it_was";
const RIGS: u32 = 100;
const KILLED: u32 = 20;

pub(crate) fn rigs_leave_the_machine_as_it_was(_lab: &Lab) -> anyhow::Result<Proof> {
    let size = format!("{RIGS},{KILLED}");
    let ran = long_test::run("rig", TEST, "LINERATE_TEST_RIGS", &size)?;
    Ok(Proof {
        claim: format!(
            "{RIGS} rigs up and down, something of {KILLED} killed, leave interfaces, routes, \
             namespaces, mounts, processes, sysctls, journal, files and rules as they were"
        ),
        seen: match ran.held {
            true => format!("no difference, after {:.0} s", ran.seconds),
            false => ran.words,
        },
        held: ran.held,
    })
}
