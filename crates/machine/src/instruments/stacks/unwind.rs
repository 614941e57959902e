//! Unwinds a program's stack by the tables of its files, as a debugger does.

use std::ops::Range;
use std::sync::Arc;

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Module,
    UnwindRegsNative, Unwinder as _, UnwinderNative,
};
use model::stacks::MOST_FRAMES;
use sys::perf::Registers;

use super::elf::UnwindTables;

/// The unwinding tables of one process.
pub(super) struct Unwinding {
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
}

/// The frames found on a stack.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Walk {
    /// Addresses within the functions, the innermost first.
    pub(super) addresses: Vec<u64>,
    /// Whether the outermost function was reached.
    pub(super) is_whole: bool,
}

impl Unwinding {
    pub(super) fn new() -> Self {
        Self {
            unwinder: UnwinderNative::new(),
            cache: CacheNative::new(),
        }
    }

    /// Adds the tables of a file that is mapped at `mapped`; addresses there are higher by `above`
    /// than within the file.
    pub(super) fn add(&mut self, mapped: Range<u64>, above: u64, tables: &UnwindTables) {
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            eh_frame_hdr_svma: Some(tables.index.at.clone()),
            eh_frame_hdr: Some(Arc::clone(&tables.index.bytes)),
            eh_frame_svma: Some(tables.frames.at.clone()),
            eh_frame: Some(Arc::clone(&tables.frames.bytes)),
            ..ExplicitModuleSectionInfo::default()
        };
        self.unwinder
            .add_module(Module::new(String::new(), mapped, above, sections));
    }

    /// Walks a stack as far as it leads through code. `stack` holds its bytes from the stack
    /// pointer on.
    pub(super) fn walk(
        &mut self,
        registers: Registers,
        stack: &[u8],
        is_code: impl Fn(u64) -> bool,
    ) -> Walk {
        let mut read = |address: u64| {
            let at =
                usize::try_from(address.checked_sub(registers.stack).ok_or(())?).map_err(|_| ())?;
            let bytes = stack.get(at..at.checked_add(8).ok_or(())?).ok_or(())?;
            bytes.try_into().map(u64::from_ne_bytes).map_err(|_| ())
        };
        let first = native(registers);
        let mut walk = Walk::default();
        let mut frames =
            self.unwinder
                .iter_frames(registers.instruction, first, &mut self.cache, &mut read);
        while walk.addresses.len() < MOST_FRAMES / 2 {
            match frames.next() {
                Ok(Some(frame)) if is_code(within(frame)) => walk.addresses.push(within(frame)),
                Ok(None) => {
                    walk.is_whole = true;
                    break;
                }
                _ => break,
            }
        }
        walk
    }
}

/// An address that is certainly within the function: the return address may be beyond its end, as a
/// call may be its last instruction.
fn within(frame: FrameAddress) -> u64 {
    frame.address_for_lookup()
}

#[cfg(target_arch = "x86_64")]
fn native(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.instruction, registers.stack, registers.frame)
}

#[cfg(target_arch = "aarch64")]
fn native(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.link, registers.stack, registers.frame)
}
