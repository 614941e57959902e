//! An HTTP answer of an exact size, head and body together.

/// A head whose length does not depend on the body: leading zeros are digits too (RFC 9112 §6.2).
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0000000000\r\nConnection: close\r\n\r\n";
/// Size of the smallest answer, which is its head alone.
pub const SMALLEST_BYTES: usize = HEAD.len();

/// Returns the request for a page of this size: the path is the size.
pub(super) fn request(page_bytes: usize) -> String {
    format!("GET /{page_bytes} HTTP/1.1\r\nHost: page\r\n\r\n")
}

/// Returns the size that a request asks for; `None` for any other request.
pub(super) fn requested(request: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(request).ok()?;
    let target = text.strip_prefix("GET /")?.split(' ').next()?;
    target.parse().ok().filter(|bytes| *bytes >= SMALLEST_BYTES)
}

/// Returns the answer. It has at least [`SMALLEST_BYTES`], whatever the size asked for.
pub(super) fn answer(page_bytes: usize) -> Vec<u8> {
    let body_bytes = page_bytes.saturating_sub(SMALLEST_BYTES);
    let mut answer = HEAD
        .replace("0000000000", &format!("{body_bytes:010}"))
        .into_bytes();
    answer.resize(SMALLEST_BYTES + body_bytes, b'x');
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_exactly_the_bytes_asked_for_and_its_head_says_so() {
        for bytes in [SMALLEST_BYTES, SMALLEST_BYTES + 1, 14_480, 101_361] {
            let answer = answer(bytes);
            assert_eq!(answer.len(), bytes);
            let text = String::from_utf8(answer).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "));
            assert_eq!(length.unwrap().parse(), Ok(body.len()));
            assert_eq!(requested(request(bytes).as_bytes()), Some(bytes));
        }
        assert_eq!(requested(b"GET /5 HTTP/1.1\r\n\r\n"), None);
        assert_eq!(requested(b"POST /500 HTTP/1.1\r\n\r\n"), None);
    }
}
