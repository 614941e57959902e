//! The server's answers, written into the output of a connection.

use std::io::Write as _;
use std::time::SystemTime;

use serde::Serialize;
use wire::response_head::{DATE_BYTES, HeadTemplate, Persistence};
use wire::status::Status;

/// The content of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Json,
    Plaintext,
    /// The status itself as text.
    Error(Status),
}

/// Prepared heads for all answers, and the message.
pub(super) struct Answers {
    message: String,
    json: HeadTemplate,
    plaintext: HeadTemplate,
    /// Heads of errors by status, in the order of [`Status::ALL`].
    errors: [HeadTemplate; Status::ALL.len()],
}

/// The body of `/json`.
#[derive(Serialize)]
struct Greeting<'a> {
    message: &'a str,
}

impl Answers {
    pub(super) fn new(message: String) -> Self {
        Self {
            message,
            json: HeadTemplate::new(Status::Ok, "application/json", ""),
            plaintext: HeadTemplate::new(Status::Ok, "text/plain", ""),
            errors: Status::ALL.map(error_head),
        }
    }

    /// Appends a whole answer; returns where its body starts.
    pub(super) fn append(
        &self,
        output: &mut Vec<u8>,
        content: Content,
        persistence: Persistence,
    ) -> usize {
        match content {
            Content::Json => self.json.append(output, persistence, |output| {
                let greeting = Greeting {
                    message: &self.message,
                };
                serde_json::to_writer(output, &greeting).expect("text serialises into memory");
            }),
            Content::Plaintext => self.plaintext.append(output, persistence, |output| {
                output.extend_from_slice(self.message.as_bytes());
            }),
            Content::Error(status) => {
                self.errors[status as usize].append(output, persistence, |output| {
                    output.extend_from_slice(status.line().as_bytes());
                    output.push(b'\n');
                })
            }
        }
    }

    pub(super) fn set_date(&mut self, date: &[u8; DATE_BYTES]) {
        let heads = [&mut self.json, &mut self.plaintext];
        for head in heads.into_iter().chain(&mut self.errors) {
            head.set_date(date);
        }
    }
}

/// Formats the date for a head.
pub(super) fn date(now: SystemTime) -> [u8; DATE_BYTES] {
    let mut date = [0; DATE_BYTES];
    write!(&mut date[..], "{}", httpdate::HttpDate::from(now)).expect("an HTTP date has 29 bytes");
    date
}

fn error_head(status: Status) -> HeadTemplate {
    // An answer with this status must say which methods are allowed (RFC 9110 §15.5.6).
    let fields = match status {
        Status::MethodNotAllowed => "Allow: GET, HEAD\r\n",
        _ => "",
    };
    HeadTemplate::new(status, "text/plain", fields)
}
