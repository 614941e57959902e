//! Why a request is refused, and with which status.

use crate::status::Status;

/// Why a request is refused. It is not known where such a request ends, so its connection is closed
/// after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the request line is not `METHOD target HTTP/1.1`")]
    RequestLine,
    #[error("a header field is not `name: value` on a line of its own")]
    Field,
    #[error("the Host field is missing, repeated or no host")]
    Host,
    #[error("the length of the body is given twice or not as a number")]
    Framing,
    #[error("the method is unknown")]
    UnknownMethod,
    #[error("the transfer coding is not `chunked`")]
    TransferCoding,
    #[error("the expectation is not `100-continue`")]
    Expectation,
    #[error("the version is neither HTTP/1.0 nor HTTP/1.1")]
    Version,
    #[error("the request line is longer than a head may be")]
    TargetTooLong,
    #[error("the head is larger, or has more fields, than it may")]
    HeadTooLarge,
}

impl Refusal {
    /// The status that the client gets.
    pub const fn status(self) -> Status {
        match self {
            Self::RequestLine | Self::Field | Self::Host | Self::Framing => Status::BadRequest,
            Self::UnknownMethod | Self::TransferCoding => Status::NotImplemented,
            Self::Expectation => Status::ExpectationFailed,
            Self::Version => Status::HttpVersionNotSupported,
            Self::TargetTooLong => Status::UriTooLong,
            Self::HeadTooLarge => Status::RequestHeaderFieldsTooLarge,
        }
    }
}
