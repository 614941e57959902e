//! Answers as bytes: a head prepared once, with places for the date and the length of the body.

use std::io::Write as _;

use crate::status::Status;

/// Bytes of an HTTP date, `Sun, 06 Nov 1994 08:49:37 GMT`.
pub const DATE_BYTES: usize = 29;

/// What happens to the connection, as the client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// Kept, which is the default of HTTP/1.1.
    Kept,
    /// Kept, and said so for a client of HTTP/1.0.
    KeptAloud,
    Closed,
}

impl Persistence {
    const fn head_end(self) -> &'static [u8] {
        match self {
            Self::Kept => b"\r\n\r\n",
            Self::KeptAloud => b"\r\nConnection: keep-alive\r\n\r\n",
            Self::Closed => b"\r\nConnection: close\r\n\r\n",
        }
    }
}

/// A head without the length of the body and without what happens to the connection.
#[derive(Clone, Debug)]
pub struct HeadTemplate {
    bytes: Vec<u8>,
    date_at: usize,
}

impl HeadTemplate {
    /// Makes the head of an answer with a body. `fields` are whole lines, each with its CR LF. The
    /// date is blank until it is set.
    pub fn new(status: Status, content_type: &str, fields: &str) -> Self {
        let mut head = Self::without_body(status);
        let more = [
            fields,
            "Content-Type: ",
            content_type,
            "\r\nContent-Length: ",
        ];
        head.bytes.extend_from_slice(more.concat().as_bytes());
        head
    }

    /// Makes a head that says nothing of a body, for [`Self::append_head`]. The date is blank until
    /// it is set.
    pub fn without_body(status: Status) -> Self {
        let mut bytes = format!("HTTP/1.1 {}\r\nServer: linerate\r\nDate: ", status.line());
        let date_at = bytes.len();
        bytes.push_str(&" ".repeat(DATE_BYTES));
        bytes.push_str("\r\n");
        Self {
            bytes: bytes.into_bytes(),
            date_at,
        }
    }

    pub fn set_date(&mut self, date: &[u8; DATE_BYTES]) {
        self.bytes[self.date_at..][..DATE_BYTES].copy_from_slice(date);
    }

    /// Appends the head alone. `write_fields` appends at least one line, the last without its CR
    /// LF; for a head with a body it appends the length of the body.
    pub fn append_head(
        &self,
        output: &mut Vec<u8>,
        persistence: Persistence,
        write_fields: impl FnOnce(&mut Vec<u8>),
    ) {
        output.extend_from_slice(&self.bytes);
        write_fields(output);
        output.extend_from_slice(persistence.head_end());
    }

    /// Appends head and body, and returns where in `output` the body starts. `write_body` appends
    /// the body itself; its length is filled in afterwards, so that it need not be known before.
    pub fn append(
        &self,
        output: &mut Vec<u8>,
        persistence: Persistence,
        write_body: impl FnOnce(&mut Vec<u8>),
    ) -> usize {
        output.extend_from_slice(&self.bytes);
        let length_at = output.len();
        // Two digits fit most small answers; a body of another length is moved into place.
        output.extend_from_slice(b"00");
        output.extend_from_slice(persistence.head_end());
        let body_at = output.len();
        write_body(output);
        let body_bytes = output.len() - body_at;
        // The digits of the length replaced two before the body.
        body_at + fill_length(output, length_at, body_bytes) - 2
    }
}

/// Writes the length over the two digits that stand for it; returns how many digits it has.
fn fill_length(output: &mut Vec<u8>, length_at: usize, body_bytes: usize) -> usize {
    if let Ok(small @ 10..100) = u8::try_from(body_bytes) {
        output[length_at] = b'0' + small / 10;
        output[length_at + 1] = b'0' + small % 10;
        return 2;
    }
    let mut digits = [0; 20];
    let mut rest = &mut digits[..];
    write!(rest, "{body_bytes}").expect("a usize has at most twenty digits");
    let used = 20 - rest.len();
    output.splice(length_at..length_at + 2, digits[..used].iter().copied());
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str) -> String {
        let mut template =
            HeadTemplate::new(Status::MethodNotAllowed, "text/plain", "Allow: GET\r\n");
        template.set_date(b"Sun, 06 Nov 1994 08:49:37 GMT");
        let mut output = b"before".to_vec();
        let body_at = template.append(&mut output, Persistence::Closed, |output| {
            output.extend_from_slice(body.as_bytes());
        });
        assert_eq!(&output[body_at..], body.as_bytes());
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn head_and_body_follow_what_was_there() {
        assert_eq!(
            answer("Hello, World!"),
            "beforeHTTP/1.1 405 Method Not Allowed\r\nServer: linerate\r\n\
             Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nAllow: GET\r\nContent-Type: text/plain\r\n\
             Content-Length: 13\r\nConnection: close\r\n\r\nHello, World!"
        );
    }

    #[test]
    fn the_length_is_right_however_many_digits_it_has() {
        for body_bytes in [0, 9, 10, 99, 100, 255, 256, 12_345] {
            let text = answer(&"x".repeat(body_bytes));
            let field = format!("Content-Length: {body_bytes}\r\n");
            assert!(text.contains(&field), "{body_bytes}");
        }
    }
}
