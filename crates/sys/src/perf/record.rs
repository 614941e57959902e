//! Parses the records in the ring, which are those of linux/perf_event.h.

// enum perf_event_type.
const LOST: u32 = 2;
const SAMPLE: u32 = 9;
const SWITCH: u32 = 14;
const SWITCH_OF_CPU: u32 = 15;
/// `PERF_RECORD_MISC_SWITCH_OUT` and, for a thread that still wanted to run,
/// `PERF_RECORD_MISC_SWITCH_OUT_PREEMPT`.
const MISC_OUT: u16 = 1 << 13;
const MISC_PREEMPTED: u16 = 1 << 14;
/// `PERF_CONTEXT_KERNEL`, a mark: the frames after it are the kernel's. All marks are from
/// `PERF_CONTEXT_MAX` on.
const OF_KERNEL: u64 = (-128_i64).cast_unsigned();
const FIRST_MARK: u64 = (-4095_i64).cast_unsigned();
/// `PERF_SAMPLE_REGS_ABI_NONE` and `PERF_SAMPLE_REGS_ABI_64`.
const NO_REGISTERS: u64 = 0;
const REGISTERS_OF_64_BITS: u64 = 2;

/// Numbers of the registers from which unwinding starts, ascending: frame pointer, stack pointer
/// and instruction on x86-64; frame pointer, link register, stack pointer and instruction on
/// aarch64 (asm/perf_regs.h).
#[cfg(target_arch = "x86_64")]
pub(super) const REGISTERS: [u32; 3] = [6, 7, 8];
#[cfg(target_arch = "aarch64")]
pub(super) const REGISTERS: [u32; 4] = [29, 30, 31, 32];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) const REGISTERS: [u32; 0] = [];

/// One record that the kernel has written.
#[derive(Debug, PartialEq, Eq)]
pub enum PerfRecord<'a> {
    /// The event occurred.
    Hit(Hit<'a>),
    /// The thread lost its CPU without leaving it by itself. This follows the hit for its leaving.
    Displaced(ThreadSwitch),
    /// The thread has a CPU again.
    Back(ThreadSwitch),
    /// Number of records that found no room.
    Lost(u64),
}

/// A thread that leaves a CPU or has one again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSwitch {
    pub process: u32,
    pub thread: u32,
    /// Time of [`crate::clock::monotonic_ns`].
    pub time_ns: u64,
}

/// Where a thread was when the event occurred.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hit<'a> {
    pub process: u32,
    pub thread: u32,
    /// Time of [`crate::clock::monotonic_ns`].
    pub time_ns: u64,
    /// How much this hit stands for, since others were not recorded: ns of running for a clock, and
    /// otherwise a number of events.
    pub stands_for: u64,
    /// Addresses in the kernel, innermost first.
    pub kernel: Vec<u64>,
    /// The tracepoint's own fields, laid out as its `format` says.
    pub fields: &'a [u8],
    /// Where the program was, for unwinding; `None` for a thread of the kernel or a 32-bit program.
    pub registers: Option<Registers>,
    /// The program's stack from its stack pointer on.
    pub stack: &'a [u8],
}

/// The registers from which unwinding starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    pub instruction: u64,
    pub stack: u64,
    pub frame: u64,
    /// Address that the function returns to, on aarch64; 0 on x86-64.
    pub link: u64,
}

/// Takes the next record off; `None` where no whole one is left. Records of no use here are
/// skipped. Hits of an event have either stacks or fields.
pub(super) fn next<'a>(bytes: &mut &'a [u8], has_stacks: bool) -> Option<PerfRecord<'a>> {
    loop {
        let mut rest = Parts(bytes);
        let (kind, misc, length) = (rest.u32()?, rest.u16()?, rest.u16()?);
        let body = rest.bytes(usize::from(length).checked_sub(8)?)?;
        *bytes = rest.0;
        let record = match kind {
            SAMPLE => hit(body, has_stacks).map(PerfRecord::Hit),
            SWITCH | SWITCH_OF_CPU => switch(body, misc),
            LOST => lost(body),
            _ => None,
        };
        if record.is_some() {
            return record;
        }
    }
}

/// Parses a switch. Every record ends with the thread and the time that it is about.
fn switch(body: &[u8], misc: u16) -> Option<PerfRecord<'_>> {
    let mut parts = Parts(body.get(body.len().checked_sub(16)?..)?);
    let switch = ThreadSwitch {
        process: parts.u32()?,
        thread: parts.u32()?,
        time_ns: parts.u64()?,
    };
    match (misc & MISC_OUT, misc & MISC_PREEMPTED) {
        (0, _) => Some(PerfRecord::Back(switch)),
        (_, 0) => None,
        _ => Some(PerfRecord::Displaced(switch)),
    }
}

fn lost(body: &[u8]) -> Option<PerfRecord<'_>> {
    let mut parts = Parts(body);
    let _event = parts.u64()?;
    parts.u64().map(PerfRecord::Lost)
}

fn hit(body: &[u8], has_stacks: bool) -> Option<Hit<'_>> {
    let mut parts = Parts(body);
    let mut hit = Hit {
        process: parts.u32()?,
        thread: parts.u32()?,
        time_ns: parts.u64()?,
        stands_for: parts.u64()?,
        ..Hit::default()
    };
    if has_stacks {
        hit.kernel = frames(&mut parts)?;
        let width = parts.u64()?;
        if width != NO_REGISTERS {
            hit.registers = registers(&mut parts, width);
        }
        hit.stack = stack(&mut parts)?;
    } else {
        let length = parts.u32()?;
        hit.fields = parts.bytes(usize::try_from(length).ok()?)?;
    }
    Some(hit)
}

/// Takes off the frames, and returns those in the kernel.
fn frames(parts: &mut Parts<'_>) -> Option<Vec<u64>> {
    let count = parts.u64()?;
    let (mut kernel, mut whose) = (Vec::new(), 0);
    for _ in 0..count {
        match (parts.u64()?, whose) {
            (mark, _) if mark >= FIRST_MARK => whose = mark,
            (address, OF_KERNEL) => kernel.push(address),
            _ => {}
        }
    }
    Some(kernel)
}

/// Takes off the registers, and returns those of a 64-bit program. A thread of the kernel has none,
/// and 32-bit programs are not unwound here.
fn registers(parts: &mut Parts<'_>, width: u64) -> Option<Registers> {
    let mut values = [0; REGISTERS.len()];
    for value in &mut values {
        *value = parts.u64()?;
    }
    let (frame, link, stack, instruction) = match *values.as_slice() {
        [frame, stack, instruction] => (frame, 0, stack, instruction),
        [frame, link, stack, instruction] => (frame, link, stack, instruction),
        _ => return None,
    };
    (width == REGISTERS_OF_64_BITS).then_some(Registers {
        instruction,
        stack,
        frame,
        link,
    })
}

/// Takes off the program's stack. Behind the room for it stands how much of that the kernel has
/// filled.
fn stack<'a>(parts: &mut Parts<'a>) -> Option<&'a [u8]> {
    let room = usize::try_from(parts.u64()?).ok()?;
    if room == 0 {
        return Some(&[]);
    }
    let bytes = parts.bytes(room)?;
    let filled = usize::try_from(parts.u64()?).ok()?;
    bytes.get(..filled)
}

/// Bytes from whose front numbers are taken off.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        let bytes = self.bytes(2)?.try_into().ok()?;
        Some(u16::from_ne_bytes(bytes))
    }

    fn u32(&mut self) -> Option<u32> {
        let bytes = self.bytes(4)?.try_into().ok()?;
        Some(u32::from_ne_bytes(bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        let bytes = self.bytes(8)?.try_into().ok()?;
        Some(u64::from_ne_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, misc: u16, body: &[u64]) -> Vec<u8> {
        let body: Vec<u8> = body.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let length = u16::try_from(8 + body.len()).unwrap();
        [
            kind.to_ne_bytes().as_slice(),
            &misc.to_ne_bytes(),
            &length.to_ne_bytes(),
            &body,
        ]
        .concat()
    }

    fn all(mut bytes: &[u8]) -> Vec<PerfRecord<'_>> {
        std::iter::from_fn(|| next(&mut bytes, true)).collect()
    }

    #[test]
    fn hits_returns_and_losses_are_told_apart_and_the_rest_is_passed_over() {
        let thread = 7 << 32 | 5;
        let in_kernel = [thread, 99, 3, 2, OF_KERNEL, 1, NO_REGISTERS, 0];
        let bytes = [
            record(SAMPLE, 0, &in_kernel),
            record(SWITCH, MISC_OUT, &[thread, 100]),
            record(SWITCH_OF_CPU, 0, &[0, thread, 130]),
            record(SWITCH, MISC_OUT | MISC_PREEMPTED, &[thread, 135]),
            record(LOST, 0, &[1, 12, thread, 140]),
        ];
        let hit = Hit {
            process: 5,
            thread: 7,
            time_ns: 99,
            stands_for: 3,
            kernel: vec![1],
            ..Hit::default()
        };
        let switch = |time_ns| ThreadSwitch {
            process: 5,
            thread: 7,
            time_ns,
        };
        let expected = [
            PerfRecord::Hit(hit),
            PerfRecord::Back(switch(130)),
            PerfRecord::Displaced(switch(135)),
            PerfRecord::Lost(12),
        ];
        assert_eq!(all(&bytes.concat()), expected);
    }

    #[test]
    fn of_a_stack_only_what_was_filled_is_handed_over() {
        let registers: Vec<u64> = (1..=REGISTERS.len() as u64).collect();
        let body = [
            &[1, 99, 1, 0, REGISTERS_OF_64_BITS],
            registers.as_slice(),
            &[16, 77, 0, 8],
        ]
        .concat();
        let bytes = record(SAMPLE, 0, &body);
        let [PerfRecord::Hit(hit)] = &all(&bytes)[..] else {
            panic!("no hit")
        };
        assert_eq!(hit.stack, 77_u64.to_ne_bytes());
        let last = registers.last().copied();
        assert_eq!(hit.registers.map(|registers| registers.instruction), last);
    }

    #[test]
    fn whatever_the_bytes_are_no_more_than_they_hold_is_read() {
        let whole = record(SAMPLE, 0, &[1, 99, 1, 1000, OF_KERNEL, 1]);
        assert_eq!(all(&whole), []);
        for end in 0..whole.len() {
            assert_eq!(all(&whole[..end]), []);
        }
    }
}
