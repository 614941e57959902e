//! One answer that was kept, taken apart.

use super::chunked::Chunks;
use super::head::{self, BodyFrame, Head};

/// The head and the body of an answer to anything but HEAD, from its first bytes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeAnswer {
    /// Without interim ones; with the empty line that ends it.
    head: Vec<u8>,
    /// Without chunk framing, and as far as it was kept.
    pub body: Vec<u8>,
}

impl WholeAnswer {
    /// Takes apart what a [`super::ResponseReader`] has found to be an answer; `None` where the end of its head
    /// was not kept.
    pub fn of(mut kept: &[u8]) -> Option<Self> {
        loop {
            let (bytes, rest) = kept.split_at(head::find_end(kept, 0).ok()??);
            let head = Head::parse(bytes).ok()?;
            if !head.is_interim() {
                return Some(Self {
                    head: bytes.to_vec(),
                    body: body(head.body, rest),
                });
            }
            kept = rest;
        }
    }

    /// The values of a header, in their order.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        head::fields(&self.head)
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }
}

fn body(frame: BodyFrame, rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    match frame {
        BodyFrame::Length(bytes) => {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            body.extend_from_slice(&rest[..bytes.min(rest.len())]);
        }
        BodyFrame::UntilClose => body.extend_from_slice(rest),
        // What is wrong of it was found when it was read.
        BodyFrame::Chunked => {
            let _ = Chunks::default().read(rest, |data| body.extend_from_slice(data));
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(answer: &str) -> WholeAnswer {
        WholeAnswer::of(answer.as_bytes()).unwrap()
    }

    #[test]
    fn an_answer_of_any_framing_has_one_body_and_the_headers_of_its_last_head() {
        for answer in [
            "HTTP/1.1 200 OK\r\nX-A: 1 \r\nContent-Length: 5\r\n\r\nhellomore",
            "HTTP/1.1 100 Continue\r\nX-A: 0\r\n\r\nHTTP/1.1 200\r\nx-a:1\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nx-A:1\r\nTransfer-Encoding: chunked\r\n\r\n\
             2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        ] {
            let whole = of(answer);
            assert_eq!(whole.body, b"hello", "{answer}");
            assert_eq!(whole.values("x-a").collect::<Vec<_>>(), [b"1"], "{answer}");
        }
        assert_eq!(WholeAnswer::of(b"HTTP/1.1 200 OK\r\nX-A: 1"), None);
        let cut = of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
        assert_eq!(cut.body, b"he");
    }
}
