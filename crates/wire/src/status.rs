//! The status codes that a server of ours answers with.

/// A status code with its reason phrase (RFC 9110 §15, RFC 6585 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ok,
    PartialContent,
    MovedPermanently,
    NotModified,
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    PreconditionFailed,
    ContentTooLarge,
    UriTooLong,
    RangeNotSatisfiable,
    ExpectationFailed,
    RequestHeaderFieldsTooLarge,
    InternalServerError,
    NotImplemented,
    ServiceUnavailable,
    HttpVersionNotSupported,
}

impl Status {
    /// All status codes, in their order.
    pub const ALL: [Self; 18] = [
        Self::Ok,
        Self::PartialContent,
        Self::MovedPermanently,
        Self::NotModified,
        Self::BadRequest,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::PreconditionFailed,
        Self::ContentTooLarge,
        Self::UriTooLong,
        Self::RangeNotSatisfiable,
        Self::ExpectationFailed,
        Self::RequestHeaderFieldsTooLarge,
        Self::InternalServerError,
        Self::NotImplemented,
        Self::ServiceUnavailable,
        Self::HttpVersionNotSupported,
    ];

    /// Code and reason as they stand in a status line.
    pub const fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::PartialContent => "206 Partial Content",
            Self::MovedPermanently => "301 Moved Permanently",
            Self::NotModified => "304 Not Modified",
            Self::BadRequest => "400 Bad Request",
            Self::Forbidden => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::PreconditionFailed => "412 Precondition Failed",
            Self::ContentTooLarge => "413 Content Too Large",
            Self::UriTooLong => "414 URI Too Long",
            Self::RangeNotSatisfiable => "416 Range Not Satisfiable",
            Self::ExpectationFailed => "417 Expectation Failed",
            Self::RequestHeaderFieldsTooLarge => "431 Request Header Fields Too Large",
            Self::InternalServerError => "500 Internal Server Error",
            Self::NotImplemented => "501 Not Implemented",
            Self::ServiceUnavailable => "503 Service Unavailable",
            Self::HttpVersionNotSupported => "505 HTTP Version Not Supported",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_stands_at_its_own_place() {
        for (place, status) in Status::ALL.into_iter().enumerate() {
            assert_eq!(status as usize, place, "{}", status.line());
        }
    }
}
