//! The status codes that a server of ours answers with.

/// A status code with its reason phrase (RFC 9110 §15, RFC 6585 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    ContentTooLarge,
    UriTooLong,
    ExpectationFailed,
    RequestHeaderFieldsTooLarge,
    NotImplemented,
    HttpVersionNotSupported,
}

impl Status {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::BadRequest,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::ContentTooLarge,
        Self::UriTooLong,
        Self::ExpectationFailed,
        Self::RequestHeaderFieldsTooLarge,
        Self::NotImplemented,
        Self::HttpVersionNotSupported,
    ];

    /// Code and reason as they stand in a status line.
    #[must_use]
    pub const fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::ContentTooLarge => "413 Content Too Large",
            Self::UriTooLong => "414 URI Too Long",
            Self::ExpectationFailed => "417 Expectation Failed",
            Self::RequestHeaderFieldsTooLarge => "431 Request Header Fields Too Large",
            Self::NotImplemented => "501 Not Implemented",
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
