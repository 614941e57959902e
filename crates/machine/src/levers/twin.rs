//! Sysctls that come in two, of which the kernel sets the one to 0 when the other is written.

use std::io;

use super::{Knob, Obstacle, Value};
use crate::tree::Tree;

/// A share of memory, and the same in bytes (`dirty_ratio_handler` of mm/page-writeback.c).
const TWINS: [(&str, &str); 2] = [
    ("vm.dirty_ratio", "vm.dirty_bytes"),
    ("vm.dirty_background_ratio", "vm.dirty_background_bytes"),
];

/// Sees that a write of a knob, even of the value it has, takes no twin along.
///
/// # Errors
/// Where its twin is the one that rules.
pub(super) fn is_unused(knob: &Knob, tree: &Tree) -> Result<(), Obstacle> {
    let Knob::Sysctl(name) = knob else {
        return Ok(());
    };
    let mut twins = TWINS.iter().filter(|(ratio, _)| *ratio == name.as_str());
    let Some((_, twin)) = twins.next() else {
        return Ok(());
    };
    let twin = Knob::sysctl(twin);
    match twin.read(tree) {
        Ok(Value::Number(0)) => Ok(()),
        Ok(held) => Err(Obstacle::Overruled {
            knob: knob.clone(),
            held: twin.show(&held),
            twin,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Obstacle::of(&twin, error)),
    }
}
