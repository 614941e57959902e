//! The CPUs that serve an interrupt, and the drivers that have requested it.

use std::io;

use crate::tree::Tree;

/// `EIO`: the answer of `write_irq_affinity` in kernel/irq/proc.c for an interrupt whose CPUs users
/// cannot choose.
const NOT_FOR_USERS: i32 = 5;

/// Turns `EIO` for an interrupt into an error that says who chooses its CPUs.
pub(super) fn with_who_chooses(error: io::Error) -> io::Error {
    if error.raw_os_error() != Some(NOT_FOR_USERS) {
        return error;
    }
    let words = "the kernel itself chooses the CPUs of this interrupt (a managed one), or its \
                 controller offers no choice (EIO)";
    io::Error::new(io::ErrorKind::Unsupported, words)
}

/// The drivers that have requested an interrupt, by the names that they give there (`eth0-rx-0`),
/// with commas where they share it (Documentation/ABI/testing/sysfs-kernel-irq). `None` where no
/// driver has, or the kernel shows none.
pub(in crate::levers) fn action(tree: &Tree, number: u32) -> Option<String> {
    let actions = tree.text(&format!("sys/kernel/irq/{number}/actions"))?;
    (!actions.is_empty()).then_some(actions)
}

/// Whether a driver that had requested the interrupt before is among those that have now.
pub(super) fn is_shared(before: &str, now: &str) -> bool {
    let names = |actions| str::split(actions, ',').map(str::trim);
    names(before).any(|name| names(now).any(|other| other == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_that_the_kernel_keeps_for_itself_is_said_to_be_so() {
        let said = with_who_chooses(io::Error::from_raw_os_error(NOT_FOR_USERS));
        assert_eq!(said.kind(), io::ErrorKind::Unsupported);
        assert!(said.to_string().contains("managed"), "{said}");
        let other = with_who_chooses(io::Error::from_raw_os_error(22));
        assert_eq!(other.raw_os_error(), Some(22));
    }
}
