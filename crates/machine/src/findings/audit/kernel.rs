//! What the kernel reports of its audit subsystem. It answers only root in the first namespaces.

use std::io;
use std::ops::ControlFlow;

use sys::netlink::{Family, Message, Netlink, push_message};

/// `AUDIT_GET`: asks for, and names, `struct audit_status` (linux/audit.h).
const GET: u16 = 1000;
/// `AUDIT_LIST_RULES`: asks for, and names, `struct audit_rule_data`.
const LIST_RULES: u16 = 1013;
/// `NLM_F_REQUEST`. No acknowledgement is asked for: it would overtake the answer, which a kernel
/// thread sends later.
const REQUEST: u16 = 1;
const SEQUENCE: u32 = 1;
/// `AUDIT_FILTER_TASK`, the rules that apply when a task is created; and `AUDIT_NEVER`.
const AT_BIRTH: u32 = 1;
const NEVER: u32 = 0;

/// Whether audit is on: 0, 1, or 2 for on and locked.
pub(super) fn enabled() -> io::Result<u32> {
    let found = first(GET, |status| word(status, 1))?;
    found.ok_or_else(|| io::Error::other("the kernel answered without a status"))
}

/// Whether a rule denies an audit context to every task created from now on. The first matching
/// rule of the task list decides, so this rule must be the first, without fields that could fail to
/// match.
pub(super) fn spares_new() -> io::Result<bool> {
    let first = first(LIST_RULES, |rule| {
        (word(rule, 0)? == AT_BIRTH).then(|| is_never_for_all(rule))
    });
    Ok(first? == Some(true))
}

fn is_never_for_all(rule: &[u8]) -> bool {
    word(rule, 1) == Some(NEVER) && word(rule, 2) == Some(0)
}

/// The first answer of this kind from which `read` returns something.
fn first<T>(kind: u16, read: impl Fn(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
    let mut request = Vec::new();
    push_message(&mut request, kind, REQUEST, SEQUENCE, |_| {});
    let mut found = None;
    let each = |message: Message<'_>| {
        if message.kind == kind {
            found = read(message.payload);
        }
        match found {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    };
    Netlink::open(Family::Audit)?.ask(&request, SEQUENCE, each)?;
    Ok(found)
}

/// The 32-bit word at this index of a structure.
fn word(structure: &[u8], place: usize) -> Option<u32> {
    let bytes = structure.chunks_exact(4).nth(place)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_is_read_word_by_word() {
        let status = [9, 0, 0, 0, 1, 0, 0, 0, 7];
        assert_eq!(word(&status, 1), Some(1));
        assert_eq!(word(&status, 2), None);
    }

    #[test]
    fn a_rule_for_some_or_for_always_spares_not_all() {
        let rule = |action: u32, fields: u32| {
            let words = [AT_BIRTH, action, fields];
            is_never_for_all(&words.map(u32::to_ne_bytes).concat())
        };
        assert!(rule(NEVER, 0));
        assert!(!rule(NEVER, 1) && !rule(2, 0));
    }
}
