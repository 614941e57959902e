//! Turns the kernel's samples into stacks with names.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;

use model::stacks::{CUT, StackFrame};
use sys::kernel_file;
use sys::perf::Registers;

use super::areas::{self, Area, Files};
use super::names::{self, Names};
use super::samples::StackSample;
use super::unwind::{Unwinding, Walk};
use crate::instruments::threads::threads_of;
use crate::process_stat::ProcessStat;
use crate::targets;

/// Most threads that are watched: each takes an open file.
const MOST_THREADS: usize = 512;
/// The kernel's state of a thread that has a CPU or waits for one.
const RUNS: char = 'R';
/// `ESRCH`.
const NO_SUCH_PROCESS: i32 = 3;
/// Name of a kernel function where the kernel hides its names.
const KERNEL: &str = "[kernel]";

/// The programs of some processes and of their children, as they are when it is made.
pub(super) struct Programs {
    by_pid: HashMap<u32, WatchedProgram>,
    kernel: OnceCell<Names>,
}

/// One thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OwnThread {
    process: u32,
    pub(super) thread: u32,
}

struct WatchedProgram {
    pid: u32,
    name: String,
    areas: Vec<Area>,
    unwinding: OnceCell<Unwinding>,
    own_code: OnceCell<Names>,
    /// Names that were looked up before.
    known: HashMap<u64, String>,
}

impl Programs {
    /// Fails with `ESRCH` where none of the processes exists.
    pub(super) fn of(pids: &[u32]) -> io::Result<Self> {
        let mut files = Files::new();
        let programs = targets::family(pids)
            .into_iter()
            .filter_map(|pid| Some((pid, WatchedProgram::of(pid, &mut files)?)));
        let by_pid: HashMap<_, _> = programs.collect();
        if by_pid.is_empty() {
            return Err(io::Error::from_raw_os_error(NO_SUCH_PROCESS));
        }
        let kernel = OnceCell::new();
        Ok(Self { by_pid, kernel })
    }

    pub(super) fn has(&self, pid: u32) -> bool {
        self.by_pid.contains_key(&pid)
    }

    /// The threads that exist now; of too many, those that have run most.
    pub(super) fn threads(&self) -> Vec<OwnThread> {
        let of_process = |process: u32| {
            let threads = threads_of(process).into_iter();
            threads.map(move |(thread, ran_ns)| (Reverse(ran_ns), OwnThread { process, thread }))
        };
        let mut threads: Vec<_> = self.by_pid.keys().copied().flat_map(of_process).collect();
        threads.sort_unstable();
        threads
            .into_iter()
            .take(MOST_THREADS)
            .map(|(_, thread)| thread)
            .collect()
    }

    /// The stack in which a thread sleeps that did nothing in the window, as the kernel alone
    /// reports it; `None` where it runs.
    pub(super) fn sleeper(
        &self,
        OwnThread { process, thread }: OwnThread,
    ) -> Option<Vec<StackFrame>> {
        let name = &self.by_pid.get(&process)?.name;
        (ProcessStat::of(thread).ok()?.state != RUNS).then_some(())?;
        let stack = kernel_file::text(format!("/proc/{process}/task/{thread}/stack"))?;
        let kernel = stack
            .lines()
            .rev()
            .filter_map(sleeping_in)
            .map(StackFrame::of_kernel);
        let outer = [name.as_str(), CUT].map(StackFrame::of_program);
        let frames: Vec<StackFrame> = outer.into_iter().chain(kernel).collect();
        frames
            .last()
            .is_some_and(|frame| frame.kernel)
            .then_some(frames)
    }

    /// The stack of a sample, the outermost frame first; empty where the process is none of these.
    pub(super) fn stack(&mut self, sample: &StackSample) -> Vec<StackFrame> {
        let kernel = self.kernel_frames(&sample.kernel);
        let Some(program) = self.by_pid.get_mut(&sample.process) else {
            return Vec::new();
        };
        let mut frames = vec![StackFrame::of_program(program.name.as_str())];
        if let Some(registers) = sample.registers {
            frames.extend(program.frames(registers, &sample.stack));
        }
        frames.extend(kernel);
        frames
    }

    fn kernel_frames(&self, addresses: &[u64]) -> Vec<StackFrame> {
        let known = self.kernel.get_or_init(Names::of_kernel);
        // All but the innermost are return addresses, which may be beyond the function's end.
        let within = |(depth, address): (usize, &u64)| address.saturating_sub(u64::from(depth > 0));
        let named = |address| StackFrame::of_kernel(known.at(address).unwrap_or(KERNEL));
        addresses
            .iter()
            .enumerate()
            .map(within)
            .map(named)
            .rev()
            .collect()
    }
}

impl WatchedProgram {
    fn of(pid: u32, files: &mut Files) -> Option<Self> {
        Some(Self {
            pid,
            name: kernel_file::text(format!("/proc/{pid}/comm"))?,
            areas: areas::of_process(pid, files),
            unwinding: OnceCell::new(),
            own_code: OnceCell::new(),
            known: HashMap::new(),
        })
    }

    fn frames(&mut self, registers: Registers, stack: &[u8]) -> Vec<StackFrame> {
        let Walk {
            addresses,
            is_whole,
        } = self.walk(registers, stack);
        let cut = (!is_whole).then(|| StackFrame::of_program(CUT));
        let named = addresses
            .into_iter()
            .rev()
            .map(|address| StackFrame::of_program(self.name_of(address)));
        cut.into_iter().chain(named).collect()
    }

    fn walk(&mut self, registers: Registers, stack: &[u8]) -> Walk {
        let areas = &self.areas;
        self.unwinding.get_or_init(|| unwinding(areas));
        let is_code = |address| area_at(areas, address).is_some();
        let unwinding = self.unwinding.get_mut();
        unwinding
            .map(|unwinding| unwinding.walk(registers, stack, is_code))
            .unwrap_or_default()
    }

    fn name_of(&mut self, address: u64) -> String {
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let name = self.looked_up(address).unwrap_or_else(|| CUT.to_owned());
        self.known.insert(address, name.clone());
        name
    }

    fn looked_up(&self, address: u64) -> Option<String> {
        let area = area_at(&self.areas, address)?;
        let name = match &area.file {
            Some(file) => {
                let within = area.within_file(address);
                let name = within.and_then(|within| file.binary()?.function_at(within));
                name.map(names::demangled)
            }
            None => self
                .own_code
                .get_or_init(|| Names::of_own_code(self.pid))
                .at(address)
                .map(str::to_owned),
        };
        Some(name.unwrap_or_else(|| area.label.clone()))
    }
}

/// Parses `[<0>] ep_poll+0x333/0x370`.
fn sleeping_in(line: &str) -> Option<&str> {
    let (_, place) = line.split_once("] ")?;
    Some(place.split('+').next().unwrap_or(place))
}

fn area_at(areas: &[Area], address: u64) -> Option<&Area> {
    let behind = areas.partition_point(|area| area.range.start <= address);
    let area = areas.get(behind.checked_sub(1)?)?;
    area.range.contains(&address).then_some(area)
}

fn unwinding(areas: &[Area]) -> Unwinding {
    let mut unwinding = Unwinding::new();
    for area in areas {
        let tables = area
            .file
            .as_ref()
            .and_then(|file| file.binary()?.unwinding.as_ref());
        let above = area
            .within_file(area.range.start)
            .map(|within| area.range.start.wrapping_sub(within));
        if let (Some(tables), Some(above)) = (tables, above) {
            unwinding.add(area.range.clone(), above, tables);
        }
    }
    unwinding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_line_of_the_kernel_the_function_is_told_and_one_of_no_function_is_none() {
        let cases = [
            ("[<0>] ep_poll+0x333/0x370", Some("ep_poll")),
            ("[<0>] 0xffffffff81000000", Some("0xffffffff81000000")),
            ("", None),
        ];
        for (line, function) in cases {
            assert_eq!(sleeping_in(line), function, "{line}");
        }
    }
}
