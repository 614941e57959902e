//! The client's side of a bare echo: a number of bytes there, a number of bytes back, nothing to
//! parse.
//!
//! With the lengths of an HTTP exchange it costs what the kernel costs. That is the floor: no HTTP
//! server on this machine gets below it.

use crate::load::{self, LoadError, LoadOutcome, LoadPlan, Loads, Observer};
use crate::protocol::{Fate, Framing, Protocol};

/// Requests and answers of fixed lengths.
#[derive(Clone, Debug)]
pub struct EchoProtocol {
    request: Vec<u8>,
    answer_bytes: usize,
}

impl EchoProtocol {
    /// Makes the protocol. Both lengths are at least one byte: an empty request would never be
    /// answered.
    pub fn new(request_bytes: usize, answer_bytes: usize) -> Self {
        Self {
            request: vec![b'x'; request_bytes.max(1)],
            answer_bytes: answer_bytes.max(1),
        }
    }
}

impl Loads for EchoProtocol {
    fn load(&self, plan: &LoadPlan, observer: &mut dyn Observer) -> Result<LoadOutcome, LoadError> {
        load::run(plan, self, observer)
    }
}

impl Protocol for EchoProtocol {
    type Request = [u8];
    type Input = [u8];
    type Memory = ();
    /// Bytes of the answer still to come.
    type Exchange = usize;

    fn memory(&self) {}

    fn exchange(&self, _connection: u32) -> usize {
        0
    }

    #[inline]
    fn begin(&self, (): &mut (), left: &mut usize) {
        *left = self.answer_bytes;
    }

    #[inline]
    fn request<'a>(&'a self, _left: &'a usize) -> &'a [u8] {
        &self.request
    }

    fn constant_request(&self) -> Option<&[u8]> {
        Some(&self.request)
    }

    #[inline]
    fn read(&self, (): &mut (), left: &mut usize, input: &[u8]) -> Framing {
        let used = input.len().min(*left);
        *left -= used;
        if *left > 0 {
            return Framing::More;
        }
        Framing::Whole {
            used,
            fate: Fate::Answered,
            closes: false,
        }
    }

    fn read_end(&self, (): &mut (), _left: &mut usize) -> Framing {
        Framing::CutShort
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_last_byte_is_there() {
        let protocol = EchoProtocol::new(3, 5);
        let mut left = protocol.exchange(0);
        protocol.begin(&mut (), &mut left);
        assert_eq!(protocol.request(&left), b"xxx");
        assert_eq!(protocol.read(&mut (), &mut left, b"1234"), Framing::More);
        let whole = Framing::Whole {
            used: 1,
            fate: Fate::Answered,
            closes: false,
        };
        assert_eq!(protocol.read(&mut (), &mut left, b"56"), whole);
    }
}
