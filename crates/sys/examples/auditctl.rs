//! Sends the audit subsystem the requests that auditctl(8) sends for the same arguments. It is
//! meant for guests, where the latch that it leaves disappears with the machine.

use std::io;
use std::ops::ControlFlow;

use sys::netlink::{Family, Netlink, push_message};

/// `AUDIT_SET` of linux/audit.h, which takes a `struct audit_status`.
const SET: u16 = 1001;
/// `AUDIT_ADD_RULE` and `AUDIT_DEL_RULE`, which take a `struct audit_rule_data`.
const ADD_RULE: u16 = 1011;
const DELETE_RULE: u16 = 1012;
/// `NLM_F_REQUEST | NLM_F_ACK`.
const REQUEST_ANSWERED: u16 = 5;
/// `AUDIT_STATUS_ENABLED`: the kernel applies only the second word of the status.
const ENABLED: u32 = 1;
/// Number of words of the status that every kernel has.
const STATUS_WORDS: usize = 8;
/// `AUDIT_FILTER_TASK`: the rule is applied when a task is created.
const AT_BIRTH: u32 = 1;
/// Number of words of a rule without strings. The second is the action, `AUDIT_NEVER`, which is 0,
/// as is the number of fields.
const RULE_WORDS: usize = 260;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (kind, payload) = match words.join(" ").as_str() {
        "-e 1" => (SET, status(1)),
        "-e 0" => (SET, status(0)),
        "-a never,task" => (ADD_RULE, never_for_a_task()),
        "-d never,task" => (DELETE_RULE, never_for_a_task()),
        other => return Err(io::Error::other(format!("`{other}` is not known here"))),
    };
    let mut request = Vec::new();
    push_message(&mut request, kind, REQUEST_ANSWERED, 1, |bytes| {
        bytes.extend(payload.iter().flat_map(|word| word.to_ne_bytes()));
    });
    Netlink::open(Family::Audit)?.ask(&request, 1, |_| ControlFlow::Continue(()))
}

fn status(enabled: u32) -> Vec<u32> {
    let mut status = vec![0; STATUS_WORDS];
    (status[0], status[1]) = (ENABLED, enabled);
    status
}

fn never_for_a_task() -> Vec<u32> {
    let mut rule = vec![0; RULE_WORDS];
    rule[0] = AT_BIRTH;
    rule
}
