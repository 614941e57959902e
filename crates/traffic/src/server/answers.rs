//! What the server answers, as bytes in the connection's own output.

use std::io::Write as _;
use std::time::SystemTime;

use serde::Serialize;
use wire::response_head::{DATE_BYTES, HeadTemplate, Persistence};
use wire::status::Status;

use crate::engine::Output;

/// What an answer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Json,
    Plaintext,
    /// The status itself, in words.
    Error(Status),
}

/// Heads prepared for all answers, and the message.
pub(super) struct Answers {
    /// The kernel may be sending from it after the last of our own uses.
    message: &'static str,
    /// The plain message is sent from where it lies.
    zero_copy: bool,
    json: HeadTemplate,
    plaintext: HeadTemplate,
    /// By status, in the order of [`Status::ALL`].
    errors: [HeadTemplate; Status::ALL.len()],
}

/// The body of `/json`.
#[derive(Serialize)]
struct Greeting<'a> {
    message: &'a str,
}

impl Answers {
    pub(super) fn new(message: String, zero_copy: bool) -> Self {
        Self {
            // Once a server, which lives as long as its process.
            message: message.leak(),
            zero_copy,
            json: HeadTemplate::new(Status::Ok, "application/json", ""),
            plaintext: HeadTemplate::new(Status::Ok, "text/plain", ""),
            errors: Status::ALL.map(error_head),
        }
    }

    /// Appends a whole answer and tells where its body starts.
    pub(super) fn append(
        &self,
        output: &mut Vec<u8>,
        content: Content,
        persistence: Persistence,
    ) -> usize {
        match content {
            Content::Json => self.json.append(output, persistence, |output| {
                let greeting = Greeting {
                    message: self.message,
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

    /// Appends the head of the plain message and has that follow without a copy, if it is to: then
    /// it tells where the body starts of what was appended.
    pub(super) fn attach(&self, output: &mut Output, persistence: Persistence) -> Option<usize> {
        let body = Some(self.message.as_bytes()).filter(|_| self.zero_copy)?;
        let head = output.bytes();
        self.plaintext.append_head(head, persistence, |head| {
            write!(head, "{}", body.len()).expect("memory takes what is written");
        });
        let body_at = head.len();
        output.attach_constant(body);
        Some(body_at)
    }

    pub(super) fn set_date(&mut self, date: &[u8; DATE_BYTES]) {
        let heads = [&mut self.json, &mut self.plaintext];
        for head in heads.into_iter().chain(&mut self.errors) {
            head.set_date(date);
        }
    }
}

/// The date as it stands in a head.
pub(super) fn date(now: SystemTime) -> [u8; DATE_BYTES] {
    let mut date = [0; DATE_BYTES];
    write!(&mut date[..], "{}", httpdate::HttpDate::from(now)).expect("an HTTP date has 29 bytes");
    date
}

fn error_head(status: Status) -> HeadTemplate {
    // RFC 9110 §15.5.6: this status must say what is allowed.
    let fields = match status {
        Status::MethodNotAllowed => "Allow: GET, HEAD\r\n",
        _ => "",
    };
    HeadTemplate::new(status, "text/plain", fields)
}
