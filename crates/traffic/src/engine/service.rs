//! The interface between a protocol and the engine's loop.

use std::time::SystemTime;

use super::output::Output;

/// Turns bytes received into bytes to send.
pub trait Service {
    /// State of one connection between two steps.
    type Memory: Default;

    /// Takes at most one request from the start of `input` and appends its answer to `output`. The
    /// next call gets the rest of the input, and more once more has come.
    fn step(&mut self, memory: &mut Self::Memory, input: &[u8], output: &mut Output) -> Step;

    /// Whether [`Self::step`] took a part of a request whose rest the peer still owes.
    fn is_mid_request(&self, memory: &Self::Memory) -> bool;

    /// Memory held for one connection besides the size of `Memory` itself, bytes.
    fn held_bytes(&self, _memory: &Self::Memory) -> usize {
        0
    }

    /// Called at the start and at each full second of the wall clock.
    fn second_began(&mut self, _now: SystemTime) {}

    /// Asks that from now on every connection ends after the answer under way.
    fn drain(&mut self) {}
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The input holds no complete request; it is kept for later.
    NeedMore,
    /// This many bytes of the input are processed.
    Took { bytes: usize, next: Next },
}

/// What is to happen after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Step on while there is input; answers gather and leave in one send.
    Continue,
    /// Send what has gathered, then step again, even without input.
    SendFirst,
    /// Send, then close: the peer has sent all it will.
    Close,
    /// Send, announce that no more will follow, and read on for a moment before closing. Closing
    /// with unread bytes would reset the connection and could destroy the answer on its way.
    Hush,
    /// Like [`Hush`](Self::Hush), after input that was not a request, or larger than is read: it is
    /// counted.
    Refuse,
}
