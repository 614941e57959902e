//! What the load loop must know of a protocol: the next request, and where its answer ends.

use model::reading::Ledger;

/// What is received of an answer at once: bytes, or what somebody made of them before.
pub trait Received {
    /// Bytes that came over the wire for it.
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

/// A protocol of requests and answers, one at a time in each slot of a load: a connection, or a stream
/// of one. It is shared by all
/// threads; what changes lives in the memory of a thread and the exchange of a connection.
pub trait Protocol: Sync {
    /// What a carrier sends as a request, and what it receives of an answer.
    type Request: ?Sized;
    type Input: Received + ?Sized;
    /// What one thread remembers across its connections.
    type Memory;
    /// Where one connection is within a request and its answer.
    type Exchange;

    /// Memory for one more thread.
    fn memory(&self) -> Self::Memory;

    /// State for the slot of this number among all those of a load.
    fn exchange(&self, slot: u32) -> Self::Exchange;

    /// Starts the next request of a connection.
    fn begin(&self, memory: &mut Self::Memory, exchange: &mut Self::Exchange);

    /// The request that an exchange has begun.
    fn request<'a>(&'a self, exchange: &'a Self::Exchange) -> &'a Self::Request;

    /// The request where it is the same every time: io_uring is given its bytes once.
    fn constant_request(&self) -> Option<&Self::Request>;

    /// Takes the next bytes of the answer.
    fn read(
        &self,
        memory: &mut Self::Memory,
        exchange: &mut Self::Exchange,
        input: &Self::Input,
    ) -> Framing;

    /// The peer closed the connection; for some answers that is their end.
    fn read_end(&self, memory: &mut Self::Memory, exchange: &mut Self::Exchange) -> Framing;

    /// The status of the first answer, for a reader who wants to know what was measured; `None` where
    /// this thread saw no answer, or answers have none.
    fn first_status(&self, _memory: &Self::Memory) -> Option<u16> {
        None
    }

    /// The request of an exchange has met its fate.
    #[inline]
    fn ended(&self, _memory: &mut Self::Memory, _exchange: &Self::Exchange, _fate: Fate) {}

    /// What became of the requests of this thread, kind by kind, where there are kinds.
    fn kinds(&self, _memory: &Self::Memory) -> Vec<Ledger> {
        Vec::new()
    }
}

/// What came of a piece of an answer.
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
    /// This is no answer.
    Malformed,
    /// The connection ended inside the answer.
    CutShort,
}

/// The bin that a request ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Answered,
    /// A whole answer that says it failed.
    Status,
    Malformed,
    /// A whole answer with another body than the first.
    Body,
    Closed,
    Timeout,
    Unfinished,
}
