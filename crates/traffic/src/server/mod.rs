//! The built-in HTTP server: two small answers, made again for each request, and files.
//!
//! `GET /json` serialises `{"message": …}`, `GET /plaintext` sends the message as it is; every
//! other path is a file, where there are files to serve. HEAD works for all of them. The server is
//! the subject of studies, so it does what an honest server must (checks the request, sends the
//! date, enforces limits) and nothing else.

mod answers;
mod busy;
mod files;

use std::io;
use std::time::SystemTime;

use answers::{Answers, Content};
use busy::BusyWork;
pub use busy::{PlantedCost, PlantedNs};
pub use files::{ContentType, Files};
use wire::path;
use wire::request::{self, Body, Limits, Method, Request, Version};
use wire::response_head::Persistence;
use wire::status::Status;

use crate::engine::life::Life;
use crate::engine::{self, Engine, Next, Output, Place, Service, Settings, Step};
use crate::tls::{Common, Secured};

/// Size of the largest body that is read and thrown away; after a larger one the connection is
/// closed.
const BODY_LIMIT_BYTES: u64 = 1024 * 1024;

/// What the server answers, and how.
pub struct Options {
    pub message: String,
    /// Files for all paths except those of the two small answers.
    pub files: Option<Files>,
    /// Send head and body of each small answer separately, as many servers do. It costs a system
    /// call per request, and a segment on the wire.
    pub split_send: bool,
    /// Rounds of a busy loop for each request: a slowdown of known size.
    pub busy_work_rounds: u64,
    /// Where the cost of that loop is recorded.
    pub planted_cost: PlantedCost,
}

/// HTTP/1 as a [`Service`].
pub struct Http {
    answers: Answers,
    files: Option<Files>,
    busy_work: BusyWork,
    limits: Limits,
    split_send: bool,
    draining: bool,
}

/// The state of one connection.
#[derive(Debug, Default)]
pub struct Memory {
    /// Bytes of an incomplete head that were already searched.
    seen_bytes: usize,
    /// Bytes still to come of a body that is thrown away.
    body_bytes_left: u64,
    /// A body that is sent separately, after its head.
    held_back: Vec<u8>,
    /// What follows once that body is sent.
    then: Option<Next>,
}

impl Http {
    pub fn new(options: Options) -> Self {
        Self {
            answers: Answers::new(options.message),
            files: options.files,
            busy_work: BusyWork::new(options.busy_work_rounds, options.planted_cost),
            limits: Limits::default(),
            split_send: options.split_send,
            draining: false,
        }
    }

    /// Serves as [`engine::run`] does, over TLS if `tls` is given. Its loops are compiled in this
    /// crate, once, with its optimization level.
    ///
    /// # Errors
    /// Those of [`engine::run`].
    pub fn serve(
        self,
        engine: Engine,
        place: Place<'_>,
        tls: Option<Common>,
        manner: (Settings, Life),
    ) -> io::Result<()> {
        match tls {
            None => engine::run(engine, place, self, manner),
            Some(common) => engine::run_over::<_, Secured>(engine, place, self, common, manner),
        }
    }

    fn take_head(&mut self, memory: &mut Memory, input: &[u8], output: &mut Output) -> Step {
        if self.is_still_incomplete(memory, input) {
            return Step::NeedMore;
        }
        memory.seen_bytes = 0;
        match request::parse(input, self.limits) {
            Ok(Some((request, head_bytes))) => {
                self.busy_work.perform();
                let next = self.answer(memory, &request, output);
                Step::Took {
                    bytes: head_bytes,
                    next,
                }
            }
            Ok(None) => {
                memory.seen_bytes = input.len();
                Step::NeedMore
            }
            Err(refusal) => {
                let status = Content::Error(refusal.status());
                self.answers
                    .append(output.bytes(), status, Persistence::Closed);
                Step::Took {
                    bytes: input.len(),
                    next: Next::Refuse,
                }
            }
        }
    }

    /// Whether a head that comes in small pieces has no new end of a line. Only at such an end is
    /// it parsed again: parsing it from the start at every piece would cost time that grows with
    /// its square.
    fn is_still_incomplete(&self, memory: &Memory, input: &[u8]) -> bool {
        memory.seen_bytes > 0
            && input.len() < self.limits.head_bytes
            && !input
                .iter()
                .skip(memory.seen_bytes)
                .any(|byte| *byte == b'\n')
    }

    fn answer(&mut self, memory: &mut Memory, request: &Request<'_>, output: &mut Output) -> Next {
        let end = self.end_of(request);
        let persistence = match (end, request.version) {
            (Next::Close | Next::Hush | Next::Refuse, _) => Persistence::Closed,
            (_, Version::Http10) => Persistence::KeptAloud,
            (_, Version::Http11) => Persistence::Kept,
        };
        if let Body::Length(bytes @ 1..) = request.body {
            memory.body_bytes_left = bytes;
        }
        let body_at = self.append_answer(request, persistence, output);
        let output = output.bytes();
        if request.method == Method::Head {
            output.truncate(body_at);
        } else if self.split_send && body_at < output.len() {
            memory.held_back.extend_from_slice(&output[body_at..]);
            memory.then = Some(end);
            output.truncate(body_at);
            return Next::SendFirst;
        }
        end
    }

    /// Appends the answer, or the error that says why there is none; returns where its body starts.
    fn append_answer(
        &mut self,
        request: &Request<'_>,
        persistence: Persistence,
        output: &mut Output,
    ) -> usize {
        let content = match (asked(request), &mut self.files) {
            (Asked::Small(content), _) => content,
            (Asked::Other, None) => Content::Error(Status::NotFound),
            (Asked::Other, Some(_)) if !is_read(request.method) => {
                Content::Error(Status::MethodNotAllowed)
            }
            (Asked::Other, Some(files)) => match files.answer(request, persistence, output) {
                Ok(body_at) => return body_at,
                Err(status) => Content::Error(status),
            },
        };
        self.answers.append(output.bytes(), content, persistence)
    }

    /// Decides whether the connection is kept. Where a body is not read, because it is too large,
    /// chunked or held back until asked for, the server reads on for a moment and then closes the
    /// connection.
    fn end_of(&self, request: &Request<'_>) -> Next {
        match request.body {
            Body::Length(bytes) if bytes > BODY_LIMIT_BYTES => Next::Refuse,
            Body::Chunked => Next::Hush,
            Body::Length(1..) if request.expects_continue || self.draining => Next::Hush,
            Body::Length(1..) if !request.keep_alive => Next::Hush,
            _ if request.keep_alive && !self.draining => Next::Continue,
            _ => Next::Close,
        }
    }
}

impl Service for Http {
    type Memory = Memory;

    fn step(&mut self, memory: &mut Memory, input: &[u8], output: &mut Output) -> Step {
        if let Some(next) = memory.then.take() {
            output.bytes().append(&mut memory.held_back);
            return Step::Took { bytes: 0, next };
        }
        if memory.body_bytes_left == 0 {
            return self.take_head(memory, input, output);
        }
        let present = u64::try_from(input.len()).unwrap_or(u64::MAX);
        let skipped = memory.body_bytes_left.min(present);
        memory.body_bytes_left -= skipped;
        Step::Took {
            bytes: usize::try_from(skipped).unwrap_or(input.len()),
            next: Next::Continue,
        }
    }

    fn is_mid_request(&self, memory: &Memory) -> bool {
        memory.body_bytes_left > 0
    }

    fn held_bytes(&self, memory: &Memory) -> usize {
        memory.held_back.capacity()
    }

    fn second_began(&mut self, now: SystemTime) {
        let date = answers::date(now);
        self.answers.set_date(&date);
        if let Some(files) = &mut self.files {
            files.set_date(now, &date);
        }
    }

    fn drain(&mut self) {
        self.draining = true;
    }
}

/// What a request asks for.
enum Asked {
    Small(Content),
    /// A file, if there are files to serve.
    Other,
}

fn asked(request: &Request<'_>) -> Asked {
    if matches!(request.body, Body::Length(bytes) if bytes > BODY_LIMIT_BYTES) {
        return Asked::Small(Content::Error(Status::ContentTooLarge));
    }
    let small = match path::without_query(request.target) {
        b"/json" => Content::Json,
        b"/plaintext" => Content::Plaintext,
        _ => return Asked::Other,
    };
    let refused = Content::Error(Status::MethodNotAllowed);
    Asked::Small(if is_read(request.method) {
        small
    } else {
        refused
    })
}

fn is_read(method: Method) -> bool {
    matches!(method, Method::Get | Method::Head)
}
