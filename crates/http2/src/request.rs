//! A request in the terms of HTTP/2.

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method, Uri};

/// Headers by which HTTP/1.1 describes its connection; HTTP/2 forbids them (RFC 9113 §8.2.2).
const OF_CONNECTIONS: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// Why a request cannot be expressed in HTTP/2.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("`{0}` is no HTTP method: use letters, such as GET")]
    Method(String),
    #[error("the host and the path make no address of HTTP/2")]
    Address,
    #[error("the header `{0}` is not `Name: value` without control characters")]
    Header(String),
    #[error("the header `{0}` is about a connection of HTTP/1.1; HTTP/2 has no place for it")]
    OfConnection(String),
}

/// One request, prepared once and sent again and again.
#[derive(Clone, Debug)]
pub struct Request {
    method: Method,
    address: Uri,
    headers: HeaderMap,
    body: Bytes,
}

impl Request {
    /// Prepares a request. `scheme` is `http` or `https`; `host` is what HTTP/1.1 has in `Host`,
    /// and a header of that name replaces it. Where there is a body, a header states its length.
    ///
    /// # Errors
    /// [`RequestError`] for what HTTP/2 cannot express.
    pub fn new(
        scheme: &str,
        method: &str,
        (host, path): (&str, &str),
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Self, RequestError> {
        let mut host = host;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            if name.eq_ignore_ascii_case("host") {
                host = value;
            } else {
                let (name, value) = header(name, value)?;
                map.append(name, value);
            }
        }
        if !body.is_empty() {
            map.insert(http::header::CONTENT_LENGTH, body.len().into());
        }
        let address = Uri::builder()
            .scheme(scheme)
            .authority(host)
            .path_and_query(path);
        Ok(Self {
            method: Method::from_bytes(method.as_bytes())
                .map_err(|_| RequestError::Method(method.to_owned()))?,
            address: address.build().map_err(|_| RequestError::Address)?,
            headers: map,
            body: Bytes::copy_from_slice(body),
        })
    }

    /// The body, which is sent after the head.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// A copy of the head, as h2 wants to own it.
    pub(crate) fn head(&self) -> http::Request<()> {
        let mut head = http::Request::new(());
        *head.method_mut() = self.method.clone();
        *head.uri_mut() = self.address.clone();
        head.headers_mut().clone_from(&self.headers);
        head
    }
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), RequestError> {
    let is_of_connection = OF_CONNECTIONS
        .iter()
        .any(|of| name.eq_ignore_ascii_case(of));
    let is_foreign = name.eq_ignore_ascii_case("te") && !value.eq_ignore_ascii_case("trailers");
    if is_of_connection || is_foreign {
        return Err(RequestError::OfConnection(name.to_owned()));
    }
    let wrong = || RequestError::Header(name.escape_debug().to_string());
    Ok((
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?,
        HeaderValue::from_str(value).map_err(|_| wrong())?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)], body: &[u8]) -> Result<http::Request<()>, RequestError> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers: Vec<_> = headers.iter().map(owned).collect();
        let request = Request::new("http", "GET", ("a.test:81", "/b?c"), &headers, body);
        request.map(|request| request.head())
    }

    #[test]
    fn a_host_stands_in_the_address_and_the_length_of_a_body_in_a_header() {
        let head = request(&[("Host", "other.test")], b"body").unwrap();
        assert_eq!(head.uri().to_string(), "http://other.test/b?c");
        assert_eq!(head.headers().len(), 1);
        assert_eq!(head.headers()["content-length"], "4");
        let head = request(&[("A", "b"), ("a", "c")], b"").unwrap();
        assert_eq!(head.uri().to_string(), "http://a.test:81/b?c");
        assert_eq!(head.headers().get_all("a").iter().count(), 2);
    }

    #[test]
    fn what_is_about_a_connection_of_http_1_is_refused_by_name() {
        for (name, value) in [("Connection", "close"), ("upgrade", "h2c"), ("TE", "gzip")] {
            let refusal = request(&[(name, value)], b"").unwrap_err();
            assert_eq!(refusal, RequestError::OfConnection(name.to_owned()));
        }
        assert!(request(&[("TE", "trailers")], b"").is_ok());
    }
}
