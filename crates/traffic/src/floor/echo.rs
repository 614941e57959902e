//! The echo server: what is left of a server when the protocol is taken away.
//!
//! It uses the same loop and the same sockets as the HTTP server, but counts bytes instead of
//! reading them: for a fixed number of bytes received, it sends a fixed answer. A request here
//! costs what this kernel charges for moving it.

use std::io;
use std::num::NonZeroUsize;

use crate::engine::life::Life;
use crate::engine::{self, Engine, Next, Output, Place, Service, Settings, Step};

/// A server that sends a fixed answer for each fixed number of bytes received.
pub struct Echo {
    request_bytes: NonZeroUsize,
    answer: Vec<u8>,
}

impl Echo {
    pub fn new(request_bytes: NonZeroUsize, answer: Vec<u8>) -> Self {
        Self {
            request_bytes,
            answer,
        }
    }

    /// Serves as [`engine::run`] does. The loops are compiled here, once and at the optimisation
    /// level of this crate.
    ///
    /// # Errors
    /// Those of [`engine::run`].
    pub fn serve(
        self,
        engine: Engine,
        place: Place<'_>,
        manner: (Settings, Life),
    ) -> io::Result<()> {
        engine::run(engine, place, self, manner)
    }
}

impl Service for Echo {
    /// Bytes received of the request under way.
    type Memory = usize;

    fn step(&mut self, received: &mut usize, input: &[u8], output: &mut Output) -> Step {
        let bytes = input.len().min(self.request_bytes.get() - *received);
        *received += bytes;
        if *received == self.request_bytes.get() {
            *received = 0;
            output.bytes().extend_from_slice(&self.answer);
        }
        Step::Took {
            bytes,
            next: Next::Continue,
        }
    }

    fn is_mid_request(&self, received: &usize) -> bool {
        *received > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(pieces: &[usize]) -> usize {
        let mut echo = Echo::new(NonZeroUsize::new(10).unwrap(), b"xxx".to_vec());
        let (mut received, mut output) = (0, Output::default());
        for piece in pieces {
            let input = vec![0; *piece];
            let mut taken = 0;
            while taken < input.len() {
                match echo.step(&mut received, &input[taken..], &mut output) {
                    Step::Took { bytes, .. } => taken += bytes,
                    Step::NeedMore => panic!("it takes whatever comes"),
                }
            }
        }
        assert_eq!(output.bytes().len() % 3, 0);
        output.bytes().len() / 3
    }

    #[test]
    fn it_answers_each_full_request_however_the_bytes_arrive() {
        assert_eq!(answers(&[9]), 0);
        assert_eq!(answers(&[10]), 1);
        assert_eq!(answers(&[1; 25]), 2);
        assert_eq!(answers(&[35]), 3);
        assert_eq!(answers(&[9, 2, 9]), 2);
    }
}
