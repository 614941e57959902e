//! What a guest's disk and its death are like, on which journals and proofs are tried.

use std::time::Duration;

use super::{Lab, Proof};
use crate::vm::{self, Cut, Errand, Session, Sinks};

/// Of one boot, on an emulated processor.
const LIMIT: Duration = Duration::from_secs(240);
/// Boots with one disk, one after the other: what each does, whether it is cut, and what it prints.
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
/// Asks the kernel to crash.
const CRASH: &str = "echo c > /proc/sysrq-trigger; sleep 1000";

/// How a boot ended.
pub(super) struct Ended {
    /// `None` where its power was cut.
    pub(super) exit: Option<u8>,
    pub(super) printed: String,
    /// On standard error.
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

/// A guest's disk outlives its power: what was synced is there after a cut, what was not is lost, and
/// all is there after a reboot.
pub(crate) fn what_was_synced_survives(lab: &Lab) -> anyhow::Result<Proof> {
    let mut session = Session::open(vm::usual_guest(), &lab.linerate, None)?;
    let mut told = Vec::new();
    let mut held = true;
    for (script, is_cut, wanted) in BOOTS {
        let cut = match is_cut {
            true => Cut::AtLine("now".to_owned()),
            false => Cut::Never,
        };
        let ended = boot(&mut session, &doing(script), &cut)?;
        held &= ended.exit.is_none() == is_cut && ended.printed == wanted;
        told.push(ended.printed);
    }
    Ok(Proof {
        claim: "after a power cut what was synced is there and nothing else, after a reboot all"
            .to_owned(),
        seen: format!("the boots printed {told:?}"),
        held,
    })
}

/// A guest that ends by itself is told of with its reason, and no exit code is made up for it.
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
