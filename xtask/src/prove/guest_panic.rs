//! A guest that ends by itself is told of with its reason, and no exit code is made up for it.

use super::{Lab, Proof, power_cut};
use crate::vm::{self, Session};

/// Asks the kernel to crash.
const CRASH: &str = "echo c > /proc/sysrq-trigger; sleep 1000";

pub(crate) fn a_panic_is_told_with_its_reason(lab: &Lab) -> anyhow::Result<Proof> {
    let mut session = Session::open(vm::usual_guest(), &lab.linerate, None)?;
    let words = match power_cut::boot(&mut session, CRASH, false) {
        Ok(output) => format!("it printed `{output}` and ended well"),
        Err(error) => format!("{error:#}"),
    };
    let reason = words.lines().find(|line| line.contains("Kernel panic"));
    Ok(Proof {
        claim: "a guest that panics is an error that has the kernel's reason".to_owned(),
        seen: reason.unwrap_or(&words).to_owned(),
        held: reason.is_some() && words.contains("it ended in the middle of its errand"),
    })
}
