//! Why a stream brings no answer: how a load counts it, and whether it may send the request again.

use h2::{Error, Reason};

/// How a stream failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server closes the connection in good order and did not process this request, which may
    /// be sent again elsewhere (RFC 9113 §8.7).
    #[error("the server closes the connection and did not begin with the request")]
    Unprocessed,
    /// The server reset the stream, or its connection ended; also where h2 ended it because of too
    /// many empty pieces (`ENHANCE_YOUR_CALM`).
    #[error("closed by the server")]
    Closed,
    /// What the server sent breaks the rules of HTTP/2.
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

/// Whether the server ended the connection by GOAWAY without an error. That ends only streams which
/// the server had not begun to process.
fn is_orderly_end(error: &Error) -> bool {
    error.is_go_away() && error.is_remote() && error.reason() == Some(Reason::NO_ERROR)
}
