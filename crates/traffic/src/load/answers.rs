//! Whether an HTTP answer is right, whatever HTTP version it came in.

use std::sync::OnceLock;

use wire::response::BodyMark;

use crate::protocol::Fate;

/// One answer in this many has its body compared with the first.
pub(super) const VERIFIED_EVERY: u32 = 64;

/// What all right answers have in common.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) compares_bodies: bool,
    /// Whether bodies are read, and not only counted.
    pub(super) reads_bodies: bool,
    /// The length that each right body has, where it is known.
    pub(super) body_bytes: Option<u64>,
    /// Status and body of the first answer that was not an error, on any thread.
    first_right: OnceLock<(u16, BodyMark)>,
}

/// A whole answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body_bytes: u64,
    /// Present if the body was read.
    pub(super) mark: Option<BodyMark>,
}

/// What one thread remembers of its answers.
#[derive(Debug, Default)]
pub(super) struct Seen {
    begun: u32,
    first_status: Option<u16>,
}

impl Answers {
    /// Makes a check that compares a sample of the answers with the first right one.
    pub(super) fn compared() -> Self {
        Self {
            compares_bodies: true,
            reads_bodies: true,
            body_bytes: None,
            first_right: OnceLock::new(),
        }
    }

    /// Whether the body of the answer to the next request is read.
    #[inline]
    pub(super) fn watches_next(&self, seen: &mut Seen) -> bool {
        // Until a first answer is known, any answer could be the first.
        let watched = seen.begun.is_multiple_of(VERIFIED_EVERY) || seen.first_status.is_none();
        seen.begun = seen.begun.wrapping_add(1);
        watched && self.reads_bodies
    }

    /// How a whole answer is counted.
    #[inline]
    pub(super) fn fate(&self, seen: &mut Seen, answer: Answer) -> Fate {
        let fate = match answer.mark {
            _ if answer.status >= 400 => Fate::Status,
            Some(mark) if !self.is_right(answer.status, mark) => Fate::Body,
            _ if self
                .body_bytes
                .is_some_and(|bytes| bytes != answer.body_bytes) =>
            {
                Fate::Body
            }
            _ => Fate::Answered,
        };
        seen.first_status.get_or_insert(answer.status);
        fate
    }

    /// The status of the first right answer on any thread; if there is none, the first that this
    /// thread saw.
    pub(super) fn first_status(&self, seen: &Seen) -> Option<u16> {
        let right = self.first_right.get().map(|(status, _)| *status);
        right.or(seen.first_status)
    }

    /// Whether an answer equals the first one, or bodies are not compared. The first answer of all
    /// is right.
    #[cold]
    fn is_right(&self, status: u16, body: BodyMark) -> bool {
        let answer = (status, body);
        *self.first_right.get_or_init(|| answer) == answer || !self.compares_bodies
    }
}
