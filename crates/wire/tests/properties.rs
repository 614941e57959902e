//! What is written is read back the same, however it is cut, for random requests and answers.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use wire::request::{self, Body, Limits, Method, Version};
use wire::response::{KnownHead, Progress, Reply, ResponseReader};

const METHODS: [(&str, Method); 9] = [
    ("GET", Method::Get),
    ("HEAD", Method::Head),
    ("POST", Method::Post),
    ("PUT", Method::Put),
    ("DELETE", Method::Delete),
    ("CONNECT", Method::Connect),
    ("OPTIONS", Method::Options),
    ("TRACE", Method::Trace),
    ("PATCH", Method::Patch),
];

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        Just(Body::None),
        any::<u64>().prop_map(Body::Length),
        Just(Body::Chunked)
    ]
}

/// A line with a field that says nothing about framing.
fn other_field() -> impl Strategy<Value = String> {
    "X-[!#$%&'*+.^_`|~0-9A-Za-z-]{0,12}:[ \t]{0,2}[ -~\u{a0}-\u{ff}]{0,30}\r\n"
}

fn framing_field(body: Body) -> String {
    match body {
        Body::None => String::new(),
        Body::Length(bytes) => format!("Content-Length: {bytes}\r\n"),
        Body::Chunked => "transfer-encoding: chunked\r\n".to_owned(),
    }
}

proptest! {
    #[test]
    fn a_request_that_was_written_is_read_back(
        (name, method) in select(&METHODS[..]),
        target in "/[!-~]{0,40}",
        body in body(),
        closes in any::<bool>(),
        before in proptest::collection::vec(other_field(), 0..4),
        after in proptest::collection::vec(other_field(), 0..4),
        cut in any::<Index>(),
    ) {
        let mut head = format!("{name} {target} HTTP/1.1\r\nHost: a.example\r\n{}", before.concat());
        head += &framing_field(body);
        head += if closes { "Connection: close\r\n" } else { "" };
        head = head + &after.concat() + "\r\n";
        let fields = head.split_once("\r\n").unwrap().1.strip_suffix("\r\n").unwrap();
        let wanted = request::Request {
            method,
            target: target.as_bytes(),
            version: Version::Http11,
            keep_alive: !closes,
            expects_continue: false,
            body,
            fields: fields.as_bytes(),
        };
        let followed = head.clone() + "GET / HT";
        let read = request::parse(followed.as_bytes(), Limits::default());
        prop_assert_eq!(read, Ok(Some((wanted, head.len()))));
        let cut = cut.index(head.len());
        prop_assert_eq!(request::parse(&head.as_bytes()[..cut], Limits::default()), Ok(None));
    }

    #[test]
    fn an_answer_that_was_written_is_framed_however_it_is_cut(
        status in 200_u16..600,
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..60), 0..5),
        chunked in any::<bool>(),
        cuts in proptest::collection::vec(any::<Index>(), 0..6),
    ) {
        prop_assume!(!matches!(status, 204 | 304));
        let body = chunks.concat();
        let bytes = if chunked { in_chunks(status, &chunks) } else { with_length(status, &body) };
        let (reply, used) = read(&bytes, &cuts);
        prop_assert_eq!((reply.status, reply.body_bytes, used), (status, body.len() as u64, bytes.len()));
        prop_assert_eq!(reply.mark, read(&with_length(200, &body), &[]).0.mark);
    }
}

fn with_length(status: u16, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status} R\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn in_chunks(status: u16, chunks: &[Vec<u8>]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut bytes = head.into_bytes();
    for chunk in chunks {
        let mut size = String::new();
        write!(size, "{:x};a=b\r\n", chunk.len()).expect("text takes text");
        bytes.extend([size.as_bytes(), chunk, b"\r\n"].concat());
    }
    bytes.extend(b"0\r\nTrailer: x\r\n\r\n");
    bytes
}

/// Reads an answer in pieces that end at the cuts.
fn read(bytes: &[u8], cuts: &[Index]) -> (Reply, usize) {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let (mut reader, mut known) = (ResponseReader::new(false), KnownHead::default());
    reader.begin(true);
    let mut begin = 0;
    for end in ends {
        match reader
            .read(&mut known, &bytes[begin..end])
            .expect("an answer")
        {
            Progress::More => begin = end,
            Progress::Whole { reply, used } => return (reply, begin + used),
        }
    }
    panic!("{} has no end", bytes.escape_ascii());
}
