//! A guest's disk outlives its power: what was synced is there after a cut, what was not is lost, and
//! all is there after a reboot. What a journal promises is tried on this.

use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::{Lab, Proof};
use crate::vm::{self, Cut, Errand, Session, Sinks};

/// Of one boot.
const LIMIT: Duration = Duration::from_secs(120);
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

pub(crate) fn what_was_synced_survives(lab: &Lab) -> anyhow::Result<Proof> {
    let mut session = Session::open(vm::usual_guest(), &lab.linerate, None)?;
    let mut told = Vec::new();
    for (script, is_cut, _) in BOOTS {
        told.push(boot(&mut session, script, is_cut)?);
    }
    let held = BOOTS
        .iter()
        .zip(&told)
        .all(|((.., wanted), told)| told == wanted);
    Ok(Proof {
        claim: "after a power cut what was synced is there and nothing else, after a reboot all"
            .to_owned(),
        seen: format!("the boots printed {told:?}"),
        held,
    })
}

/// What a boot prints.
pub(super) fn boot(session: &mut Session, script: &str, is_cut: bool) -> anyhow::Result<String> {
    let errand = Errand {
        script: script.to_owned(),
        ..Errand::default()
    };
    let cut = if is_cut {
        Cut::AtLine("now".to_owned())
    } else {
        Cut::Never
    };
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let mut sinks = Sinks {
        output: &mut output,
        errors: &mut errors,
    };
    let ending = session.boot(&errand, &cut, LIMIT, &mut sinks)?;
    ensure!(
        ending.exit.is_none() == is_cut,
        "{:?} of `{script}`",
        ending.exit
    );
    String::from_utf8(output).context("what the guest printed")
}
