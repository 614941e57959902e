//! Samples as the kernel reported them, stored until there is time to resolve them.

use model::stacks::{StackFrame, Stacks};
use sys::perf::{Hit, Registers};

use super::programs::Programs;

/// The most memory that all samples of a burst may take.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// One sample.
#[derive(Debug)]
pub(super) struct StackSample {
    pub(super) process: u32,
    /// Addresses in the kernel, innermost first.
    pub(super) kernel: Vec<u64>,
    pub(super) registers: Option<Registers>,
    pub(super) stack: Box<[u8]>,
}

impl StackSample {
    pub(super) fn of(hit: &Hit<'_>) -> Self {
        Self {
            process: hit.process,
            kernel: hit.kernel.clone(),
            registers: hit.registers,
            stack: hit.stack.into(),
        }
    }

    /// Memory that the sample takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.kernel.len() * size_of::<u64>() + self.stack.len()
    }
}

/// Samples with the time that each stands for, ns, and the number of those that there was no room
/// for.
#[derive(Default)]
pub(super) struct StackSamples {
    pub(super) kept: Vec<(StackSample, u64)>,
    bytes: usize,
    pub(super) lost: u64,
}

impl StackSamples {
    /// No samples yet, and this many already lost.
    pub(super) fn without(lost: u64) -> Self {
        Self {
            lost,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, sample: StackSample, weight_ns: u64) {
        self.bytes += sample.bytes();
        match self.has_room() {
            true => self.kept.push((sample, weight_ns)),
            false => self.lost += 1,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.bytes <= MOST_BYTES
    }

    /// Resolves the samples into stacks with names, and adds other stacks to them.
    pub(super) fn stacks(
        self,
        window_ns: u64,
        programs: &mut Programs,
        others: Vec<(Vec<StackFrame>, u64)>,
    ) -> Stacks {
        let samples = self.kept.iter();
        let seen = samples.map(|(sample, weight_ns)| (programs.stack(sample), *weight_ns));
        let mut stacks = Stacks::of(window_ns, seen.chain(others));
        stacks.lost += self.lost;
        stacks
    }
}
