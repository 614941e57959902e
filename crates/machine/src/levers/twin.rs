//! Knobs that come in two, of which the one rules and the other counts for nothing, or is lost when it
//! is written.

use std::io;

use super::{Knob, Obstacle, Value};
use crate::tree::Tree;

/// A share of memory, and the same in bytes (`dirty_ratio_handler` of mm/page-writeback.c).
const TWINS: [(&str, &str); 2] = [
    ("vm.dirty_ratio", "vm.dirty_bytes"),
    ("vm.dirty_background_ratio", "vm.dirty_background_bytes"),
];

/// Sees that a write of a knob, even of the value it has, takes no twin along, and counts for something.
///
/// # Errors
/// Where its twin is the one that rules.
pub(super) fn is_unused(knob: &Knob, tree: &Tree) -> Result<(), Obstacle> {
    let Some((twin, why)) = twin_of(knob) else {
        return Ok(());
    };
    match twin.read(tree) {
        Ok(Value::Number(0)) => Ok(()),
        Ok(held) => Err(Obstacle::Overruled {
            knob: knob.clone(),
            held: twin.show(&held),
            twin: Box::new(twin),
            why,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Obstacle::of(&twin, error)),
    }
}

/// What rules instead of a knob where it is not 0, and what a write of the knob then does.
fn twin_of(knob: &Knob) -> Option<(Knob, String)> {
    match knob {
        Knob::Sysctl(name) => {
            let mut twins = TWINS.iter().filter(|(ratio, _)| *ratio == name.as_str());
            let (_, twin) = twins.next()?;
            let why = "to write the one sets the other to 0, and an undo would not bring that back";
            Some((Knob::sysctl(twin), why.to_owned()))
        }
        Knob::Driver { device, setting } => {
            let twin = Knob::Driver {
                device: device.clone(),
                setting: setting.chosen_by()?,
            };
            let off = twin.command(&Value::Word("off".to_owned()));
            let why = format!(
                "while that is on the driver chooses by itself, whatever is written; {off}, and try again"
            );
            Some((twin, why))
        }
        _ => None,
    }
}
