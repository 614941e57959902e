//! Why a stream brings no answer: what a load books, and what it may send again.

use h2::{Error, Reason};

/// What became of a stream that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server closes the connection in good order, and did nothing about this request: it may be
    /// sent again elsewhere (RFC 9113 §8.7).
    #[error("the server closes the connection and did not begin with the request")]
    Unprocessed,
    /// The server reset the stream, or its connection ended; also where h2 ended it for more empty
    /// pieces than it bears (`ENHANCE_YOUR_CALM`).
    #[error("closed by the server")]
    Closed,
    /// What came breaks the rules of HTTP/2.
    #[error("what the server sent is not HTTP/2")]
    Broken,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            error if error.reason() == Some(Reason::ENHANCE_YOUR_CALM) => Self::Closed,
            error if error.is_library() => Self::Broken,
            error if is_orderly_end(&error) => Self::Unprocessed,
            _ => Self::Closed,
        }
    }
}

/// Streams that the server began with are left out of what its GOAWAY ends.
fn is_orderly_end(error: &Error) -> bool {
    error.is_go_away() && error.is_remote() && error.reason() == Some(Reason::NO_ERROR)
}
