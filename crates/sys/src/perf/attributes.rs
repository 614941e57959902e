//! `struct perf_event_attr` of linux/perf_event.h.

use super::Trigger;
use super::record::REGISTERS;

// enum perf_type_id, perf_sw_ids.
const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;
const CPU_CLOCK: u64 = 0;
const CONTEXT_SWITCHES: u64 = 3;

// enum perf_event_sample_format.
const SAMPLE_THREAD: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_FRAMES: u64 = 1 << 5;
const SAMPLE_PERIOD: u64 = 1 << 8;
const SAMPLE_FIELDS: u64 = 1 << 10;
const SAMPLE_REGISTERS: u64 = 1 << 12;
const SAMPLE_STACK: u64 = 1 << 13;

/// Bytes of a program's stack in each sample: the loop of libuv alone has 12 KiB on it. A multiple
/// of 8, below 64 KiB.
const STACK_BYTES: u32 = 32 << 10;

/// `PERF_FORMAT_TOTAL_TIME_ENABLED` and `PERF_FORMAT_TOTAL_TIME_RUNNING`: a read returns three
/// words.
const TIMES_BESIDE: u64 = 1 | 2;

// Bits in the word of flags.
const DISABLED: u64 = 1;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const EXCLUDE_IDLE: u64 = 1 << 7;
const BY_FREQUENCY: u64 = 1 << 10;
const THREAD_AND_TIME_OF_ALL: u64 = 1 << 18;
const NO_FRAMES_OF_PROGRAM: u64 = 1 << 22;
const USE_CLOCK: u64 = 1 << 25;
const TELL_SWITCHES: u64 = 1 << 26;

/// `PERF_ATTR_SIZE_VER5`.
const SIZE: u32 = 112;
const _: () = assert!(SIZE as usize == size_of::<Attributes>());

/// The fields up to `PERF_ATTR_SIZE_VER5` (Linux 4.1), which every later kernel accepts.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period_or_frequency: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
    branches: u64,
    user_registers: u64,
    user_stack_bytes: u32,
    clock: i32,
    interrupt_registers: u64,
    aux_watermark: u32,
    most_frames: u16,
    reserved: u16,
}

impl Attributes {
    pub(super) fn of(trigger: Trigger) -> Self {
        let (kind, config, period_or_frequency, more_flags) = match trigger {
            Trigger::Clock { hertz } => (SOFTWARE, CPU_CLOCK, u64::from(hertz), BY_FREQUENCY),
            Trigger::Leaving { hertz } => {
                let flags = BY_FREQUENCY | TELL_SWITCHES;
                (SOFTWARE, CONTEXT_SWITCHES, u64::from(hertz), flags)
            }
            Trigger::Tracepoint { number } => (TRACEPOINT, number, 1, 0),
        };
        let basic = Self {
            kind,
            size: SIZE,
            config,
            period_or_frequency,
            sample_type: SAMPLE_THREAD | SAMPLE_TIME | SAMPLE_PERIOD,
            flags: DISABLED
                | EXCLUDE_HYPERVISOR
                | EXCLUDE_IDLE
                | THREAD_AND_TIME_OF_ALL
                | USE_CLOCK
                | more_flags,
            clock: libc::CLOCK_MONOTONIC,
            ..Self::default()
        };
        match trigger.tells_stacks() {
            true => Self {
                sample_type: basic.sample_type | SAMPLE_FRAMES | SAMPLE_REGISTERS | SAMPLE_STACK,
                flags: basic.flags | NO_FRAMES_OF_PROGRAM,
                user_registers: REGISTERS.iter().fold(0, |mask, number| mask | 1 << number),
                user_stack_bytes: STACK_BYTES,
                ..basic
            },
            false => Self {
                sample_type: basic.sample_type | SAMPLE_FIELDS,
                ..basic
            },
        }
    }

    /// Attributes of an event that only counts, without samples; devices accept no flags.
    pub(super) fn of_counter(device: u32, config: u64) -> Self {
        Self {
            kind: device,
            size: SIZE,
            config,
            read_format: TIMES_BESIDE,
            ..Self::default()
        }
    }
}
