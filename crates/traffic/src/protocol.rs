//! What the load loop must know about a protocol: the next request, and where its answer ends.

use model::reading::Ledger;

/// A piece of an answer as it is received: bytes, or what was decoded from them.
pub trait Received {
    /// Returns the bytes that came over the wire for it.
    fn wire_bytes(&self) -> usize;

    /// Whether it is the end of the connection.
    fn is_end(&self) -> bool;
}

impl Received for [u8] {
    #[inline]
    fn wire_bytes(&self) -> usize {
        self.len()
    }

    #[inline]
    fn is_end(&self) -> bool {
        self.is_empty()
    }
}

/// A protocol of requests and answers, one at a time in each slot of a load: a connection, or a
/// stream of one. All threads share it; what changes is kept in the memory of a thread and in the
/// exchange of a slot.
pub trait Protocol: Sync {
    /// What a carrier sends as a request, and what it receives of an answer.
    type Request: ?Sized;
    type Input: Received + ?Sized;
    /// What one thread remembers across its connections.
    type Memory;
    /// How far a slot is in a request and its answer.
    type Exchange;

    /// Creates the memory of one more thread.
    fn memory(&self) -> Self::Memory;

    /// Creates the state of the slot with this number among all slots of a load.
    fn exchange(&self, slot: u32) -> Self::Exchange;

    /// Prepares the next request of a slot.
    fn begin(&self, memory: &mut Self::Memory, exchange: &mut Self::Exchange);

    /// Returns the request that an exchange has begun.
    fn request<'a>(&'a self, exchange: &'a Self::Exchange) -> &'a Self::Request;

    /// Returns the request if it is the same every time: io_uring is given its bytes once.
    fn constant_request(&self) -> Option<&Self::Request>;

    /// Reads the next piece of the answer.
    fn read(
        &self,
        memory: &mut Self::Memory,
        exchange: &mut Self::Exchange,
        input: &Self::Input,
    ) -> Framing;

    /// Reads the end of the connection, which is also the end of some answers.
    fn read_end(&self, memory: &mut Self::Memory, exchange: &mut Self::Exchange) -> Framing;

    /// Returns the status of the first answer, so that a reader can see what was measured; `None`
    /// where this thread saw no answer, or answers have no status.
    fn first_status(&self, _memory: &Self::Memory) -> Option<u16> {
        None
    }

    /// Notes the fate of the request of an exchange that has ended.
    #[inline]
    fn ended(&self, _memory: &mut Self::Memory, _exchange: &Self::Exchange, _fate: Fate) {}

    /// Returns the fates of the requests of this thread by kind, where there are kinds.
    fn kinds(&self, _memory: &Self::Memory) -> Vec<Ledger> {
        Vec::new()
    }
}

/// The result of reading a piece of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// There is more to come.
    More,
    /// The answer ended after `used` bytes of the piece.
    Whole {
        used: usize,
        fate: Fate,
        /// The connection cannot carry another request.
        closes: bool,
    },
    /// The input is no answer.
    Malformed,
    /// The connection ended inside the answer.
    CutShort,
}

/// The bin that a request ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Answered,
    /// A whole answer whose status reports a failure.
    Status,
    Malformed,
    /// A whole answer with a different body from the first.
    Body,
    Closed,
    Timeout,
    Unfinished,
}
