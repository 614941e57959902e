//! Framing of HTTP/1 answers as a client reads them: finds where an answer ends, without storing
//! it.
//!
//! Bytes come in pieces of any size. Nothing of a body is stored: it is counted, hashed if it is to
//! be compared, and handed on if the caller asks for it. An answer's head is stored only when it is
//! cut in two.

mod chunked;
mod head;
mod mark;

use chunked::Chunks;
use head::{BodyFrame, Head};

pub use head::{HEAD_LIMIT_BYTES, KnownHead};
pub use mark::{BodyMark, Marker};

/// Why bytes are no HTTP/1 answer. The messages say what was answered instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// They do not begin with a status line of HTTP/1.
    #[error(
        "something that is not HTTP/1: it begins with no status line of an answer (101 is none)"
    )]
    StatusLine,
    /// A header without a colon, or folded over two lines.
    #[error(
        "something that is not HTTP/1: a header without a name and a colon, or folded over two lines"
    )]
    Header,
    /// A `Content-Length` that is no number, or two that differ.
    #[error("something that is not HTTP/1: a Content-Length that is no number, or two that differ")]
    ContentLength,
    /// Headers or trailers beyond [`HEAD_LIMIT_BYTES`].
    #[error("a head, or trailers, longer than the {} KiB read here", HEAD_LIMIT_BYTES / 1024)]
    HeadTooLong,
    /// A chunk whose size or end is wrong.
    #[error("something that is not HTTP/1: a chunk whose size or end is wrong")]
    Chunk,
    /// The connection ended inside the answer.
    #[error("a part of an answer: the connection ended inside it")]
    CutShort,
}

/// What is known of a whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    /// Length of the body, without chunk framing.
    pub body_bytes: u64,
    /// Length of everything: interim answers, head, body, chunk framing, trailers.
    pub wire_bytes: u64,
    /// The connection cannot carry another request.
    pub closes: bool,
    /// Present if the body was watched.
    pub mark: Option<BodyMark>,
}

/// The result of reading a piece of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The whole piece belongs to the answer, which is not over.
    More,
    /// The answer ended after `used` bytes of the piece.
    Whole { reply: Reply, used: usize },
}

/// Where a reader is within an answer.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Head,
    Length { left: u64 },
    Chunked(Chunks),
    UntilClose,
}

/// Reads the answers of one connection, one after the other.
#[derive(Debug)]
pub struct ResponseReader {
    /// Answers to HEAD have no body, whatever their head says.
    bodiless: bool,
    stage: Stage,
    /// The beginning of a head whose end has not come yet.
    cut_head: Vec<u8>,
    head: Head,
    body_bytes: u64,
    wire_bytes: u64,
    marker: Option<Marker>,
}

impl ResponseReader {
    /// Makes a reader of answers to HEAD, or to any other method.
    pub fn new(head_request: bool) -> Self {
        Self {
            bodiless: head_request,
            stage: Stage::Head,
            cut_head: Vec::new(),
            head: Head::default(),
            body_bytes: 0,
            wire_bytes: 0,
            marker: None,
        }
    }

    /// Starts with a new answer; `watched` asks for its [`BodyMark`].
    #[inline]
    pub fn begin(&mut self, watched: bool) {
        self.stage = Stage::Head;
        self.cut_head.clear();
        self.body_bytes = 0;
        self.wire_bytes = 0;
        self.marker = watched.then(Marker::default);
    }

    /// Reads the next piece of input. `known` remembers a head across the answers, and connections,
    /// of one client thread.
    ///
    /// # Errors
    /// [`Malformed`] when the bytes are no answer; the connection is then of no more use.
    #[inline]
    pub fn read(&mut self, known: &mut KnownHead, input: &[u8]) -> Result<Progress, Malformed> {
        self.read_handing_on(known, input, |_| ())
    }

    /// Reads like [`Self::read`], and hands on the body, without chunk framing.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    #[inline]
    pub fn read_handing_on(
        &mut self,
        known: &mut KnownHead,
        input: &[u8],
        mut on_body: impl FnMut(&[u8]),
    ) -> Result<Progress, Malformed> {
        let mut used = 0;
        while matches!(self.stage, Stage::Head) {
            let Some(taken) = self.read_head(known, &input[used..])? else {
                self.wire_bytes += (input.len() - used) as u64;
                return Ok(Progress::More);
            };
            used += taken;
            self.wire_bytes += taken as u64;
            if self.enter_body() {
                return Ok(self.whole(used));
            }
        }
        let (taken, ended) = self.read_body(&input[used..], &mut on_body)?;
        self.wire_bytes += taken as u64;
        if ended {
            Ok(self.whole(used + taken))
        } else {
            Ok(Progress::More)
        }
    }

    /// The status and the length of the body, as the head gives them, once it was read; the length
    /// is `None` if it is not known before the end.
    pub fn announced(&self) -> Option<(u16, Option<u64>)> {
        let length = match self.stage {
            Stage::Head => return None,
            Stage::Length { left } => Some(self.body_bytes + left),
            Stage::Chunked(_) | Stage::UntilClose => None,
        };
        Some((self.head.status, length))
    }

    /// Ends the answer after the peer closed the connection, if that may end it.
    ///
    /// # Errors
    /// [`Malformed::CutShort`] when the answer was not over.
    pub fn read_end(&mut self) -> Result<Reply, Malformed> {
        match self.stage {
            Stage::UntilClose => Ok(self.reply()),
            _ => Err(Malformed::CutShort),
        }
    }

    /// Reads a head from the start of `input`; `None` while its end is missing.
    #[inline]
    fn read_head(
        &mut self,
        known: &mut KnownHead,
        input: &[u8],
    ) -> Result<Option<usize>, Malformed> {
        if self.cut_head.is_empty()
            && let Some(head) = known.at_start_of(input)
        {
            self.head = head;
            return Ok(Some(known.len()));
        }
        self.read_new_head(known, input)
    }

    #[cold]
    fn read_new_head(
        &mut self,
        known: &mut KnownHead,
        input: &[u8],
    ) -> Result<Option<usize>, Malformed> {
        let held = self.cut_head.len();
        self.cut_head.extend_from_slice(input);
        let Some(length) = head::find_end(&self.cut_head, held)? else {
            return Ok(None);
        };
        self.head = Head::parse(&self.cut_head[..length])?;
        known.remember(&self.cut_head[..length], self.head);
        self.cut_head.clear();
        Ok(Some(length - held))
    }

    /// Goes from the head to the body; true if there is none.
    #[inline]
    fn enter_body(&mut self) -> bool {
        if self.head.is_interim() {
            return false;
        }
        let frame = if self.bodiless {
            BodyFrame::Length(0)
        } else {
            self.head.body
        };
        self.stage = match frame {
            BodyFrame::Length(left) => Stage::Length { left },
            BodyFrame::Chunked => Stage::Chunked(Chunks::default()),
            BodyFrame::UntilClose => Stage::UntilClose,
        };
        matches!(self.stage, Stage::Length { left: 0 })
    }

    /// Reads body bytes. Returns how many of them belong to the answer, and whether it is over.
    #[inline]
    fn read_body(
        &mut self,
        input: &[u8],
        on_body: &mut impl FnMut(&[u8]),
    ) -> Result<(usize, bool), Malformed> {
        match &mut self.stage {
            Stage::Head => Ok((0, false)),
            Stage::Length { left } => {
                let taken = input
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                let ended = *left == 0;
                self.take_body(&input[..taken], on_body);
                Ok((taken, ended))
            }
            Stage::UntilClose => {
                self.take_body(input, on_body);
                Ok((input.len(), false))
            }
            Stage::Chunked(chunks) => {
                let mut chunks = *chunks;
                let outcome = chunks.read(input, |data| self.take_body(data, on_body))?;
                self.stage = Stage::Chunked(chunks);
                Ok(outcome)
            }
        }
    }

    #[inline]
    fn take_body(&mut self, data: &[u8], on_body: &mut impl FnMut(&[u8])) {
        self.body_bytes += data.len() as u64;
        if let Some(marker) = &mut self.marker {
            marker.add(data);
        }
        on_body(data);
    }

    #[inline]
    fn whole(&self, used: usize) -> Progress {
        Progress::Whole {
            reply: self.reply(),
            used,
        }
    }

    #[inline]
    fn reply(&self) -> Reply {
        Reply {
            status: self.head.status,
            body_bytes: self.body_bytes,
            wire_bytes: self.wire_bytes,
            closes: self.head.closes || matches!(self.stage, Stage::UntilClose),
            mark: self
                .marker
                .as_ref()
                .map(|marker| marker.mark(self.body_bytes)),
        }
    }
}

#[cfg(test)]
mod tests;
