//! One system call that is made many times for each answer.

use std::collections::BTreeMap;

use model::observation::Observation;
use model::stacks::{Stack, Stacks};

use super::part::NamedPart;

/// Calls per answer; a program that makes fewer may need them all for that answer.
const MANY: f64 = 10.0;
/// A call that takes a smaller share of the CPU time is not named, 0 to 1.
const ENOUGH: f64 = 0.15;
/// Calls by which requests arrive. Each request takes at least one of these, and each answer one of
/// `OUT`.
const IN: [&str; 6] = ["recvfrom", "recvmsg", "recvmmsg", "read", "readv", "splice"];
const OUT: [&str; 7] = [
    "sendto", "sendmsg", "sendmmsg", "write", "writev", "sendfile", "splice",
];
/// What the kernel's functions of system calls begin with, by architecture (`SYSCALL_DEFINE` of
/// linux/syscalls.h).
const DOORS: [&str; 3] = ["__x64_sys_", "__arm64_sys_", "__ia32_sys_"];

/// The system call that is made many times for each answer, if any.
pub(super) fn part(seen: &Observation) -> Option<NamedPart> {
    let counts = &seen.calls.as_ref()?.counts;
    let answers = answers(counts)?;
    let (call, count) = counts.iter().max_by_key(|(_, count)| **count)?;
    let each = *count as f64 / answers.max(1) as f64;
    let all: u64 = counts.values().sum();
    let of_cpu = share(
        seen.stacks.as_ref()?,
        call,
        *count as f64 / all.max(1) as f64,
    );
    let part = NamedPart {
        name: "system-calls",
        what: format!("the system call {call}, which it makes {each:.0} times for each answer"),
        advice: "make it once and keep its result, or do more with each call",
        of_cpu,
        of_client: 0.0,
        call: Some(call.clone()),
    };
    (each >= MANY && of_cpu >= ENOUGH).then_some(part)
}

/// Number of answers behind these counts: the smaller of the most frequent receiving and the most
/// frequent sending call.
pub(super) fn answers(counts: &BTreeMap<String, u64>) -> Option<u64> {
    let most_of = |names: &[&str]| names.iter().filter_map(|name| counts.get(*name)).max();
    Some(*most_of(&IN)?.min(most_of(&OUT)?))
}

/// Share of the CPU time that a call takes. All time in the call itself counts. The way into and
/// out of the kernel, where no call is visible in the stack yet, counts by `of_calls`, the call's
/// share of all calls.
fn share(stacks: &Stacks, call: &str, of_calls: f64) -> f64 {
    let all = stacks.weight_ns().max(1) as f64;
    let weights = stacks.stacks.iter().map(|stack| {
        let part = match door(stack) {
            Door::Call(name) if name == call => 1.0,
            Door::Call(_) | Door::None => 0.0,
            Door::Way => of_calls,
        };
        part * stack.weight_ns as f64
    });
    weights.sum::<f64>() / all
}

/// How a stack entered the kernel.
pub(super) enum Door<'a> {
    /// By this system call.
    Call(&'a str),
    /// By a call that the stack does not show.
    Way,
    /// The stack is not in the kernel.
    None,
}

pub(super) fn door(stack: &Stack) -> Door<'_> {
    let mut kernel = stack.frames.iter().filter(|frame| frame.kernel).peekable();
    let is_there = kernel.peek().is_some();
    let mut names = kernel.filter_map(|frame| {
        let mut calls = DOORS
            .iter()
            .filter_map(|door| frame.name.strip_prefix(door));
        calls.next()
    });
    match names.next() {
        Some(call) => Door::Call(call),
        None if is_there => Door::Way,
        None => Door::None,
    }
}

#[cfg(test)]
mod tests {
    use model::observation::SeenCalls;
    use model::stacks::StackFrame;

    use super::super::cases::busy;
    use super::*;

    fn calling(stat_count: u64, stat_weight: u64) -> Observation {
        let counts = [("read", 100), ("write", 100), ("statx", stat_count)];
        let kernel = |name: &str| vec![StackFrame::of_program("app"), StackFrame::of_kernel(name)];
        Observation {
            calls: Some(SeenCalls {
                acked_bytes: None,
                window_ns: 100_000_000,
                counts: counts.map(|(name, count)| (name.to_owned(), count)).into(),
            }),
            stacks: Some(Stacks::of(
                100,
                [
                    (kernel("__x64_sys_statx"), stat_weight),
                    (kernel("__x64_sys_write"), 160),
                    (kernel("entry_SYSCALL_64"), 20),
                    (vec![StackFrame::of_program("app")], 20),
                ],
            )),
            ..busy()
        }
    }

    #[test]
    fn a_call_that_is_made_again_and_again_for_each_answer_has_its_part_of_the_cpu_time() {
        let part = part(&calling(1800, 100)).unwrap();
        assert!(
            part.what.contains("statx, which it makes 18 times"),
            "{}",
            part.what
        );
        // With nine tenths of the way into the kernel and out of it.
        assert!(
            (part.of_cpu - 118.0 / 300.0).abs() < 1e-9,
            "{}",
            part.of_cpu
        );
    }

    #[test]
    fn a_call_for_each_answer_and_one_that_costs_little_are_none_to_speak_of() {
        assert!(part(&calling(200, 100)).is_none());
        assert!(part(&calling(1800, 1)).is_none());
        assert!(part(&busy()).is_none());
    }
}
