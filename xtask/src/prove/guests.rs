//! Proves that a guest's disk and its crashes behave as real ones do: journals and other proofs are
//! tried on them.

use std::time::Duration;

use super::{Lab, Proof};
use crate::vm::{self, Cut, Errand, Session, Sinks};

/// Time limit of one boot, on an emulated processor.
const LIMIT: Duration = Duration::from_secs(240);
/// Consecutive boots with one disk: the script of each, whether its power is cut, and what it must
/// print.
const BOOTS: [(&str, bool, &str); 3] = [
    (
        "echo kept | dd conv=fsync of=/state/synced 2> /dev/null; echo lost > /state/unsynced; \
         echo now; sleep 1000",
        true,
        "now\n",
    ),
    (
        "ls /state | grep -v lost+found; cat /state/synced; echo told > /state/told",
        false,
        "synced\nkept\n",
    ),
    ("cat /state/synced /state/told", false, "kept\ntold\n"),
];
/// Makes the kernel crash.
const CRASH: &str = "echo c > /proc/sysrq-trigger; sleep 1000";

/// How a boot ended.
pub(super) struct Ended {
    /// Exit code of the script; `None` where the power was cut.
    pub(super) exit: Option<u8>,
    pub(super) printed: String,
    /// Text on standard error.
    pub(super) said: String,
}

pub(super) fn boot(session: &mut Session, errand: &Errand, cut: &Cut) -> anyhow::Result<Ended> {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let mut sinks = Sinks {
        output: &mut output,
        errors: &mut errors,
    };
    let exit = session.boot(errand, cut, LIMIT, &mut sinks)?.exit;
    let [printed, said] =
        [output, errors].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ended {
        exit,
        printed,
        said,
    })
}

/// Proves that a guest's disk survives a power cut: what was synced is there afterwards, what was
/// not is lost. After a regular reboot everything is there.
pub(crate) fn what_was_synced_survives(lab: &Lab) -> anyhow::Result<Proof> {
    let mut session = Session::open(vm::usual_guest(), &lab.linerate, None)?;
    let mut printed = Vec::new();
    let mut held = true;
    for (script, is_cut, wanted) in BOOTS {
        let cut = match is_cut {
            true => Cut::AtLine("now".to_owned()),
            false => Cut::Never,
        };
        let ended = boot(&mut session, &doing(script), &cut)?;
        held &= ended.exit.is_none() == is_cut && ended.printed == wanted;
        printed.push(ended.printed);
    }
    Ok(Proof {
        claim: "after a power cut what was synced is there and nothing else, after a reboot all"
            .to_owned(),
        seen: format!("the boots printed {printed:?}"),
        held,
    })
}

/// Proves that a guest that ends by itself is reported with the reason, and that no exit code is
/// made up.
pub(crate) fn a_panic_is_told_with_its_reason(lab: &Lab) -> anyhow::Result<Proof> {
    let mut session = Session::open(vm::usual_guest(), &lab.linerate, None)?;
    let words = match boot(&mut session, &doing(CRASH), &Cut::Never) {
        Ok(ended) => format!("it printed `{}` and ended well", ended.printed),
        Err(error) => format!("{error:#}"),
    };
    let reason = words.lines().find(|line| line.contains("Kernel panic"));
    Ok(Proof {
        claim: "a guest that panics is an error that has the kernel's reason".to_owned(),
        seen: reason.unwrap_or(&words).to_owned(),
        held: reason.is_some() && words.contains("it ended in the middle of its errand"),
    })
}

fn doing(script: &str) -> Errand {
    Errand {
        script: script.to_owned(),
        ..Errand::default()
    }
}
