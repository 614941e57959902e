//! What a protocol tells the loop.

use std::time::SystemTime;

use super::output::Output;

/// Turns bytes received into bytes to send.
pub trait Service {
    /// What is remembered about one connection between two steps.
    type Memory: Default;

    /// Takes at most one request from the start of `input` and appends its answer to `output`.
    /// It is called again with what was left, and with more once more has come.
    fn step(&mut self, memory: &mut Self::Memory, input: &[u8], output: &mut Output) -> Step;

    /// Whether the peer owes the rest of a request of which a part was taken by [`Self::step`].
    fn is_mid_request(&self, memory: &Self::Memory) -> bool;

    /// What is kept in memory for one connection beside what this itself takes, bytes.
    fn held_bytes(&self, _memory: &Self::Memory) -> usize {
        0
    }

    /// Told at the start and at each full second of the wall clock.
    fn second_began(&mut self, _now: SystemTime) {}

    /// From now on every connection ends after the answer under way.
    fn drain(&mut self) {}
}

/// How far a step came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The input holds no complete request; it is kept for later.
    NeedMore,
    /// So many bytes of the input are done with.
    Took { bytes: usize, next: Next },
}

/// What is to happen after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Step on while there is input; answers gather and leave in one send.
    Continue,
    /// Send what has gathered, then step again, even without input.
    SendFirst,
    /// Send, then close: the peer has been heard to the end.
    Close,
    /// Send, say that no more will follow, and read on for a moment before closing: closing with
    /// unread bytes would reset the connection and could destroy the answer on its way.
    Hush,
    /// As [`Hush`](Self::Hush), of what was no request, or more than is read: it is counted.
    Refuse,
}
