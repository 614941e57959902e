//! A BPF program that the kernel runs at the end of every system call. For one kind of call of some
//! processes it delays that end: it reads the clock until the delay is over. It changes nothing in
//! the processes.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

use super::{call, descriptor_number, load};
use crate::clock;

// enum bpf_cmd, enum bpf_map_type, enum bpf_prog_type, enum bpf_attach_type of linux/bpf.h.
const CREATE_MAP: libc::c_int = 0;
const LOOK_UP: libc::c_int = 1;
const UPDATE: libc::c_int = 2;
const OPEN_TRACEPOINT: libc::c_int = 17;
const HASH: u32 = 1;
const PROGRAM_AT_TRACEPOINT: u32 = 17;
// Functions of the kernel that a program may call (`___BPF_FUNC_MAPPER`).
const FIND: i32 = 1;
const CLOCK: i32 = 5;
const READ_KERNEL: i32 = 113;
const WHO: i32 = 14;
/// Offset of the number of the system call in a thread's `struct pt_regs`, bytes.
const NUMBER_AT: i32 = if cfg!(target_arch = "x86_64") {
    120
} else {
    280
};
/// Most turns of the waiting loop, each of which reads the clock four times. The limit shows the
/// kernel that the loop ends, and allows some 200 µs where a reading takes 12 ns. The kernel
/// follows every turn when it loads the program, 8192 of them at most.
const MOST_TURNS: i32 = 4000;

/// A delay of system calls, in force until it is dropped or this process ends.
#[derive(Debug)]
pub struct CallDelay {
    _at_tracepoint: OwnedFd,
    /// Map from a process to the sum of the delays of its calls, ns, and the number of those calls.
    sums: OwnedFd,
    /// Cost of the program for each call beyond what it counts itself, ns.
    uncounted_ns: u64,
    processes: Vec<u32>,
}

/// The start of `union bpf_attr` for [`CREATE_MAP`].
#[repr(C, align(8))]
struct MapAttributes {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    most_entries: u32,
    flags: u32,
}

/// The start of `union bpf_attr` for [`LOOK_UP`] and [`UPDATE`].
#[repr(C, align(8))]
struct MapEntry {
    map: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// The start of `union bpf_attr` for [`OPEN_TRACEPOINT`].
#[repr(C, align(8))]
struct TracepointAttributes {
    name: u64,
    program: u32,
}

impl CallDelay {
    /// Lets calls of this number by threads of these processes end later from now on, by
    /// `delay_ns`, some 200,000 at most.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` and `CAP_PERFMON` in the first user namespace; `EINVAL` or `E2BIG` before Linux 5.8;
    /// `ENOENT` for a kernel without the tracepoint.
    pub fn begin(number: u64, delay_ns: u32, processes: &[u32]) -> io::Result<Self> {
        let uncounted_ns = uncounted_ns()?;
        let attached = Self::attach(number, delay_ns, processes)?;
        Ok(Self {
            uncounted_ns,
            ..attached
        })
    }

    fn attach(number: u64, delay_ns: u32, processes: &[u32]) -> io::Result<Self> {
        let sums = map(processes.len())?;
        let map = descriptor_number(&sums)?.cast_signed();
        for process in processes {
            entry(&sums, UPDATE, *process, &mut [0; 2])?;
        }
        let number = i32::try_from(number).map_err(io::Error::other)?;
        let delay_ns = i32::try_from(delay_ns).map_err(io::Error::other)?;
        let program = load(PROGRAM_AT_TRACEPOINT, &instructions(number, delay_ns, map))?;
        let mut open = TracepointAttributes {
            name: c"sys_exit".as_ptr().expose_provenance() as u64,
            program: descriptor_number(&program)?,
        };
        // SAFETY: OPEN_TRACEPOINT reads the name up to its zero, which is a constant.
        let opened = unsafe { call(OPEN_TRACEPOINT, &mut open) }?;
        Ok(Self {
            // SAFETY: the descriptor was just opened and nobody else owns it.
            _at_tracepoint: unsafe { OwnedFd::from_raw_fd(opened) },
            sums,
            uncounted_ns: 0,
            processes: processes.to_vec(),
        })
    }

    /// By how much all calls together ended later until now, ns, including what the program costs
    /// them beyond what it counts.
    ///
    /// # Errors
    /// None are known.
    pub fn sum_ns(&self) -> io::Result<u64> {
        let sums = self.processes.iter().map(|process| {
            let mut pair = [0; 2];
            entry(&self.sums, LOOK_UP, *process, &mut pair)?;
            let [sum_ns, count] = pair;
            Ok(sum_ns + count * self.uncounted_ns)
        });
        sums.sum()
    }
}

/// Cost of a program without a delay for one call, beyond what it counts itself, ns. It is measured
/// with calls of our own, in the round that was disturbed least.
fn uncounted_ns() -> io::Result<u64> {
    const CALLS: u64 = 500;
    const ROUNDS: usize = 5;
    let took_ns = || {
        let begun_ns = clock::monotonic_ns();
        for _ in 0..CALLS {
            std::hint::black_box(std::os::unix::process::parent_id());
        }
        clock::monotonic_ns() - begun_ns
    };
    let bare_ns = std::iter::repeat_with(took_ns).take(ROUNDS).min();
    let number = u64::try_from(libc::SYS_getppid).map_err(io::Error::other)?;
    let delay = CallDelay::attach(number, 0, &[std::process::id()])?;
    let mut least_ns = u64::MAX;
    for _ in 0..ROUNDS {
        let before_ns = delay.sum_ns()?;
        let with_ns = took_ns();
        least_ns = least_ns.min(with_ns.saturating_sub(delay.sum_ns()? - before_ns));
    }
    Ok(least_ns.saturating_sub(bare_ns.unwrap_or_default()) / CALLS)
}

fn map(entries: usize) -> io::Result<OwnedFd> {
    let mut create = MapAttributes {
        kind: HASH,
        key_bytes: 4,
        value_bytes: 16,
        most_entries: u32::try_from(entries).map_err(io::Error::other)?,
        flags: 0,
    };
    // SAFETY: CREATE_MAP follows no pointer.
    let map = unsafe { call(CREATE_MAP, &mut create) }?;
    // SAFETY: the descriptor was just opened and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(map) })
}

/// Reads or writes the entry of one process: the sum of its delays, and their number.
fn entry(map: &OwnedFd, command: libc::c_int, process: u32, pair: &mut [u64; 2]) -> io::Result<()> {
    let mut entry = MapEntry {
        map: descriptor_number(map)?,
        key: (&raw const process).expose_provenance() as u64,
        value: std::ptr::from_mut(pair).expose_provenance() as u64,
        flags: 0,
    };
    // SAFETY: both commands read a key of 4 bytes; one reads the value of 16 bytes and the other writes it. Both live
    // through the call.
    unsafe { call(command, &mut entry) }?;
    Ok(())
}

/// `struct bpf_insn` of linux/bpf.h: the operation, the registers that it writes and reads, the
/// length of a jump or the offset in memory, and a number.
fn instruction(code: u8, (to, from): (u8, u8), offset: i16, number: i32) -> [u8; 8] {
    let registers = match cfg!(target_endian = "little") {
        true => from << 4 | to,
        false => to << 4 | from,
    };
    let [offset, number] = [&offset.to_ne_bytes()[..], &number.to_ne_bytes()];
    let mut bytes = [code, registers, 0, 0, 0, 0, 0, 0];
    bytes[2..4].copy_from_slice(offset);
    bytes[4..].copy_from_slice(number);
    bytes
}

/// The program. The first of its arguments points to the registers of the thread.
fn instructions(number: i32, delay_ns: i32, map: i32) -> [[u8; 8]; 35] {
    let does = instruction;
    let looks_at_clock = does(0x85, (0, 0), 0, CLOCK);
    [
        does(0x79, (3, 1), 0, 0), // r3 = where the registers are
        does(0x07, (3, 0), 0, NUMBER_AT),
        does(0xb7, (2, 0), 0, 4),
        does(0xbf, (1, 10), 0, 0),
        does(0x07, (1, 0), 0, -8),
        does(0x85, (0, 0), 0, READ_KERNEL),
        does(0x61, (2, 10), -8, 0),     // r2 = the number of the call
        does(0x55, (2, 0), 25, number), // another? go to the end
        looks_at_clock,
        does(0xbf, (7, 0), 0, 0), // r7 = when it would have ended
        does(0x85, (0, 0), 0, WHO),
        does(0x77, (0, 0), 0, 32),  // the process is in the upper half
        does(0x63, (10, 0), -4, 0), // on the stack
        does(0x18, (1, 1), 0, map), // r1 = the map, in two instructions
        does(0, (0, 0), 0, 0),
        does(0xbf, (2, 10), 0, 0),
        does(0x07, (2, 0), 0, -4), // r2 = address of the process number
        does(0x85, (0, 0), 0, FIND),
        does(0x15, (0, 0), 14, 0), // none of ours? go to the end
        does(0xbf, (6, 0), 0, 0),  // r6 = address of its sum
        does(0xb7, (8, 0), 0, 0),  // r8 = turns
        looks_at_clock,
        looks_at_clock,
        looks_at_clock,
        looks_at_clock,
        does(0xbf, (9, 0), 0, 0),
        does(0x1f, (9, 7), 0, 0),           // r9 = ns since r7
        does(0x35, (9, 0), 2, delay_ns),    // over? leave the loop
        does(0x07, (8, 0), 0, 1),           // r8 += 1
        does(0xa5, (8, 0), -9, MOST_TURNS), // the next turn
        does(0xdb, (6, 9), 0, 0),           // its sum += r9, atomically
        does(0xb7, (1, 0), 0, 1),
        does(0xdb, (6, 1), 8, 0), // and its count += 1
        does(0xb7, (0, 0), 0, 0),
        does(0x95, (0, 0), 0, 0), // ends
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system_call;

    const CALLS: u64 = 200;

    #[test]
    fn a_call_ends_as_much_later_as_was_asked_for_and_others_do_not() {
        let own = [std::process::id()];
        let number = system_call::number("getppid").unwrap();
        let took_ns = || {
            let begun_ns = clock::monotonic_ns();
            for _ in 0..CALLS {
                std::hint::black_box(std::os::unix::process::parent_id());
            }
            clock::monotonic_ns() - begun_ns
        };
        let delay = match CallDelay::begin(number, 50_000, &own) {
            Err(refused) if !crate::user::is_root() => {
                assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
                return;
            }
            delay => delay.unwrap(),
        };
        let (with_ns, sum_ns) = (took_ns(), delay.sum_ns().unwrap());
        // Others of our threads may call it too.
        assert!(sum_ns >= CALLS * 50_000 && with_ns >= CALLS * 50_000);
        assert!(sum_ns < CALLS * 100_000, "{sum_ns}");
        std::hint::black_box(std::process::id());
        assert_eq!(delay.sum_ns().unwrap(), sum_ns);
        drop(delay);
        assert!(took_ns() < CALLS * 50_000);
    }
}
