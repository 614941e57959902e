//! Knobs that come in pairs. One of a pair may overrule the other, so that a write of the other has
//! no effect; or a write of one resets the other.

use std::io;

use super::{Knob, Obstacle, Value};
use crate::tree::Tree;

/// Pairs of knobs: a limit as a share of memory, and the same limit in bytes (`dirty_ratio_handler`
/// of mm/page-writeback.c).
const PAIRS: [(&str, &str); 2] = [
    ("vm.dirty_ratio", "vm.dirty_bytes"),
    ("vm.dirty_background_ratio", "vm.dirty_background_bytes"),
];

/// Checks that a write of a knob takes effect and does not reset the other knob of its pair.
///
/// # Errors
/// If the other knob of the pair is in force.
pub(super) fn check(knob: &Knob, tree: &Tree) -> Result<(), Obstacle> {
    let Some((ruling, why)) = other_of_pair(knob) else {
        return Ok(());
    };
    match ruling.read(tree) {
        Ok(Value::Number(0)) => Ok(()),
        Ok(held) => {
            let held = ruling.show(&held);
            Err(Obstacle::Other(format!(
                "{knob} is overruled by {ruling}, which is `{held}`: {why}"
            )))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Obstacle::of(&ruling, &error)),
    }
}

/// Returns the knob that overrules this one while it is not 0, and what a write of this one then
/// does.
fn other_of_pair(knob: &Knob) -> Option<(Knob, String)> {
    match knob {
        Knob::Sysctl(name) => {
            let mut pairs = PAIRS.iter().filter(|(ratio, _)| *ratio == name.as_str());
            let (_, other) = pairs.next()?;
            let why =
                "writing one of them sets the other to 0, and an undo would not bring that back";
            Some((Knob::sysctl(other), why.to_owned()))
        }
        Knob::Driver { device, setting } => {
            let other = Knob::Driver {
                device: device.clone(),
                setting: setting.chosen_by()?,
            };
            let off = other.command(&Value::Word("off".to_owned()));
            let why = format!(
                "while that is on, the driver chooses by itself, whatever is written; {off}, and try again"
            );
            Some((other, why))
        }
        _ => None,
    }
}
