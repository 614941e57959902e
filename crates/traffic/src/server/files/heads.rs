//! The heads of answers about files.

use std::fmt;
use std::io::Write as _;

use wire::path;
use wire::response_head::{DATE_BYTES, HeadTemplate, Persistence};
use wire::status::Status;

use super::conditions::FileVersion;

/// Prepared heads up to the date, one for each status.
pub(super) struct Heads {
    whole: HeadTemplate,
    part: HeadTemplate,
    not_modified: HeadTemplate,
    moved: HeadTemplate,
    unsatisfiable: HeadTemplate,
}

/// The part of an answer that [`Heads`] needs: where it goes, and whether the connection is kept.
pub(super) struct Answering<'a> {
    pub(super) output: &'a mut Vec<u8>,
    pub(super) persistence: Persistence,
}

impl Heads {
    pub(super) fn new() -> Self {
        Self {
            whole: HeadTemplate::without_body(Status::Ok),
            part: HeadTemplate::without_body(Status::PartialContent),
            not_modified: HeadTemplate::without_body(Status::NotModified),
            moved: HeadTemplate::without_body(Status::MovedPermanently),
            unsatisfiable: HeadTemplate::without_body(Status::RangeNotSatisfiable),
        }
    }

    pub(super) fn set_date(&mut self, date: &[u8; DATE_BYTES]) {
        let heads = [
            &mut self.whole,
            &mut self.part,
            &mut self.not_modified,
            &mut self.moved,
            &mut self.unsatisfiable,
        ];
        for head in heads {
            head.set_date(date);
        }
    }

    /// Appends the head of an answer with the whole file.
    pub(super) fn whole(&self, to: &mut Answering<'_>, kind: &str, file: FileVersion<'_>) {
        self.whole.append_head(to.output, to.persistence, |head| {
            content(head, kind, file, file.bytes);
        });
    }

    /// Appends the head of an answer with `bytes` of the file, at least one, from byte `first` on.
    pub(super) fn part(
        &self,
        to: &mut Answering<'_>,
        kind: &str,
        file: FileVersion<'_>,
        (first, bytes): (u64, u64),
    ) {
        self.part.append_head(to.output, to.persistence, |head| {
            let (last, length) = (first + bytes - 1, file.bytes);
            say(
                head,
                format_args!("Content-Range: bytes {first}-{last}/{length}\r\n"),
            );
            content(head, kind, file, bytes);
        });
    }

    pub(super) fn not_modified(&self, to: &mut Answering<'_>, file: FileVersion<'_>) {
        let head = &self.not_modified;
        head.append_head(to.output, to.persistence, |head| validators(head, file));
    }

    /// Redirects from a folder's name to the name with a slash, so that the relative links of its
    /// index work.
    pub(super) fn moved(&self, to: &mut Answering<'_>, target: &[u8]) {
        let folder = path::without_query(target);
        let query = &target[folder.len()..];
        // Two slashes at the beginning would be read as the name of another host; browsers read a
        // backslash as a slash.
        let begin = folder.iter().position(|byte| !matches!(byte, b'/' | b'\\'));
        let folder = &folder[begin.unwrap_or(folder.len())..];
        self.moved.append_head(to.output, to.persistence, |head| {
            for piece in [b"Location: /", folder, b"/", query] {
                head.extend_from_slice(piece);
            }
            head.extend_from_slice(b"\r\nContent-Length: 0");
        });
    }

    /// Appends the answer to a range outside the file, with the file's length; returns where the
    /// body starts.
    pub(super) fn unsatisfiable(&self, to: &mut Answering<'_>, file: FileVersion<'_>) -> usize {
        let body = Status::RangeNotSatisfiable.line();
        let head = &self.unsatisfiable;
        head.append_head(to.output, to.persistence, |head| {
            let (length, bytes) = (file.bytes, body.len() + 1);
            say(head, format_args!("Content-Range: bytes */{length}\r\n"));
            say(
                head,
                format_args!("Content-Type: text/plain\r\nContent-Length: {bytes}"),
            );
        });
        let body_at = to.output.len();
        say(to.output, format_args!("{body}\n"));
        body_at
    }
}

/// Appends the fields of an answer with content.
fn content(head: &mut Vec<u8>, kind: &str, file: FileVersion<'_>, bytes: u64) {
    say(
        head,
        format_args!("Content-Type: {kind}\r\nAccept-Ranges: bytes\r\n"),
    );
    validators(head, file);
    say(head, format_args!("\r\nContent-Length: {bytes}"));
}

fn validators(head: &mut Vec<u8>, file: FileVersion<'_>) {
    let (tag, modified) = (file.tag, httpdate::HttpDate::from(file.modified));
    say(
        head,
        format_args!("ETag: {tag}\r\nLast-Modified: {modified}"),
    );
}

fn say(output: &mut Vec<u8>, words: fmt::Arguments<'_>) {
    output
        .write_fmt(words)
        .expect("memory takes what is written");
}
