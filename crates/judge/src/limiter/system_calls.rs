//! One system call, made again and again for each answer.

use std::collections::BTreeMap;

use model::observation::Observation;
use model::stacks::{Stack, Stacks};

use super::part::NamedPart;

/// A program of so few for each answer makes them for that answer.
const MANY: f64 = 10.0;
/// Less of the CPU time is none to speak of, 0 to 1.
const ENOUGH: f64 = 0.15;
/// Calls by which requests come and by which answers go: each request takes one of either at least.
const IN: [&str; 6] = ["recvfrom", "recvmsg", "recvmmsg", "read", "readv", "splice"];
const OUT: [&str; 7] = [
    "sendto", "sendmsg", "sendmmsg", "write", "writev", "sendfile", "splice",
];
/// What the kernel's functions of system calls begin with, by architecture (`SYSCALL_DEFINE` of linux/syscalls.h).
const DOORS: [&str; 3] = ["__x64_sys_", "__arm64_sys_", "__ia32_sys_"];

/// The call that is made many times for each answer; `None` where none is.
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
        advice: "make it once and keep what it says, or do more with each call",
        of_cpu,
        of_client: 0.0,
        call: Some(call.clone()),
    };
    (each >= MANY && of_cpu >= ENOUGH).then_some(part)
}

/// How many answers were given meanwhile, by these calls.
pub(super) fn answers(counts: &BTreeMap<String, u64>) -> Option<u64> {
    let most_of = |names: &[&str]| names.iter().filter_map(|name| counts.get(*name)).max();
    Some(*most_of(&IN)?.min(most_of(&OUT)?))
}

/// Of the CPU time: what goes through the call itself, and of the way into the kernel and out of it, at which no call is
/// seen yet, as much as it has of all calls.
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

/// How a stack came into the kernel.
pub(super) enum Door<'a> {
    /// By this call.
    Call(&'a str),
    /// By a call that is not known.
    Way,
    /// Not at all.
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
        // And nine tenths of the way.
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
