//! What a client must make of answers, right and wrong ones, however they are cut.

use super::*;

fn read_in_pieces(pieces: &[&[u8]]) -> Result<(Reply, usize), Malformed> {
    let mut reader = ResponseReader::new(false);
    let mut known = KnownHead::default();
    reader.begin(true);
    let mut before = 0;
    for piece in pieces {
        match reader.read(&mut known, piece)? {
            Progress::More => before += piece.len(),
            Progress::Whole { reply, used } => return Ok((reply, before + used)),
        }
    }
    reader.read_end().map(|reply| (reply, before))
}

fn read(bytes: &[u8]) -> Result<(Reply, usize), Malformed> {
    read_in_pieces(&[bytes])
}

const WHOLE: [(&[u8], u16, u64); 9] = [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, 5),
    (b"HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n", 404, 0),
    (b"HTTP/1.1 204\r\nContent-Length: 9\r\n\r\n", 204, 0),
    (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, 0),
    (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        200,
        2,
    ),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200, 3),
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\nContent-Length: 1\r\n\r\n\
          0a;name=value\r\n0123456789\r\nB \r\nhello world\r\n000\r\nDigest: x\r\nMore: y\r\n\r\n",
        200,
        21,
    ),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 200, 1),
    (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 4\r\n\r\n\r\n\r\n", 200, 4),
];

#[test]
fn each_answer_ends_where_it_should_and_the_next_bytes_are_left_alone() {
    for (bytes, status, body_bytes) in WHOLE {
        let followed = [bytes, b"HTTP/1.1 500"].concat();
        let (reply, used) = read(&followed).unwrap();
        let found = (
            reply.status,
            reply.body_bytes,
            used,
            reply.wire_bytes,
            reply.closes,
        );
        let wanted = (status, body_bytes, bytes.len(), bytes.len() as u64, false);
        assert_eq!(found, wanted, "{}", bytes.escape_ascii());
    }
}

#[test]
fn a_split_at_any_byte_gives_the_same_framing() {
    for (bytes, ..) in WHOLE {
        let uncut = read(bytes).unwrap();
        for cut in 1..bytes.len() {
            let (left, right) = bytes.split_at(cut);
            assert_eq!(
                read_in_pieces(&[left, right]).unwrap(),
                uncut,
                "cut at {cut}"
            );
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read_in_pieces(&single).unwrap(), uncut, "byte by byte");
    }
}

#[test]
fn wrong_bytes_are_named_as_soon_as_they_are_seen() {
    let wrong: [(&[u8], Malformed); 12] = [
        (b"SSH-2.0-OpenSSH", Malformed::StatusLine),
        (b"HTTP/2 200\r\n\r\n", Malformed::StatusLine),
        (b"HTTP/1.1 20x OK\r\n\r\n", Malformed::StatusLine),
        (b"HTTP/1.1 2000 OK\r\n\r\n", Malformed::StatusLine),
        (
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            Malformed::StatusLine,
        ),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", Malformed::Header),
        (
            b"HTTP/1.1 200 OK\r\nA: b\r\n folded: c\r\n\r\n",
            Malformed::Header,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
            Malformed::ContentLength,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            Malformed::ContentLength,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            Malformed::ContentLength,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz",
            Malformed::Chunk,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
            Malformed::Chunk,
        ),
    ];
    for (bytes, reason) in wrong {
        assert_eq!(read(bytes), Err(reason), "{}", bytes.escape_ascii());
    }
}

#[test]
fn headers_trailers_and_chunk_sizes_have_limits() {
    let endless = [
        b"HTTP/1.1 200 OK\r\n".as_slice(),
        &b"A: b\r\n".repeat(12_000),
    ]
    .concat();
    assert_eq!(read(&endless), Err(Malformed::HeadTooLong));
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_slice();
    let trailers = [chunked, b"0\r\n", &b"A: b\r\n".repeat(20_000)].concat();
    assert_eq!(read(&trailers), Err(Malformed::HeadTooLong));
    let huge = [chunked, b"fffffffffffffffff\r\n"].concat();
    assert_eq!(read(&huge), Err(Malformed::Chunk));
}

#[test]
fn an_answer_without_a_length_ends_with_the_connection() {
    let (reply, used) = read(b"HTTP/1.1 200 OK\r\n\r\nto the end").unwrap();
    assert_eq!((reply.body_bytes, used, reply.closes), (10, 29, true));
}

#[test]
fn a_connection_that_ends_inside_an_answer_cuts_it_short() {
    for (bytes, ..) in WHOLE {
        for cut in 0..bytes.len() {
            assert_eq!(
                read(&bytes[..cut]),
                Err(Malformed::CutShort),
                "cut at {cut}"
            );
        }
    }
}

#[test]
fn an_answer_to_head_has_no_body_whatever_it_says() {
    let mut reader = ResponseReader::new(true);
    reader.begin(false);
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    let progress = reader.read(&mut KnownHead::default(), bytes).unwrap();
    assert!(matches!(progress, Progress::Whole { used, .. } if used == bytes.len()));
}

#[test]
fn the_head_of_an_answer_says_whether_it_is_the_last_of_its_connection() {
    for (head, closes) in [
        ("HTTP/1.1 200 OK\r\nConnection: close\r\n", true),
        ("HTTP/1.1 200 OK\r\nConnection: upgrade, Close\r\n", true),
        ("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n", false),
        ("HTTP/1.0 200 OK\r\n", true),
    ] {
        let bytes = format!("{head}Content-Length: 0\r\n\r\n");
        assert_eq!(read(bytes.as_bytes()).unwrap().0.closes, closes, "{head}");
    }
}

#[test]
fn equal_bodies_have_equal_marks_however_they_were_framed() {
    let mark = |bytes: &[u8]| read(bytes).unwrap().0.mark.unwrap();
    let plain = mark(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
    let chunked = mark(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
    );
    assert_eq!(plain, chunked);
    assert_ne!(
        plain,
        mark(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabd")
    );
}

#[test]
fn an_answer_of_any_framing_hands_on_one_body_and_its_last_head_is_known() {
    for answer in [
        "HTTP/1.1 200 OK\r\nX-A: 1 \r\nContent-Length: 5\r\n\r\nhellomore",
        "HTTP/1.1 100 Continue\r\nX-A: 0\r\n\r\nHTTP/1.1 200\r\nx-a:1\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nx-A:1\r\nTransfer-Encoding: chunked\r\n\r\n\
         2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    ] {
        let (mut known, mut body) = (KnownHead::default(), Vec::new());
        let mut reader = ResponseReader::new(false);
        reader.begin(false);
        let on_body = |piece: &[u8]| body.extend_from_slice(piece);
        let read = reader.read_handing_on(&mut known, answer.as_bytes(), on_body);
        assert!(read.is_ok(), "{answer}");
        assert_eq!(body, b"hello", "{answer}");
        assert_eq!(known.values("x-a").collect::<Vec<_>>(), [b"1"], "{answer}");
    }
}

#[test]
fn a_head_that_differs_in_its_length_is_not_taken_for_the_known_one() {
    let mut known = KnownHead::default();
    let mut reader = ResponseReader::new(false);
    for (length, body) in [(2, "ok"), (2, "ok"), (3, "yes"), (2, "no")] {
        reader.begin(false);
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
        match reader.read(&mut known, bytes.as_bytes()).unwrap() {
            Progress::Whole { reply, used } => {
                assert_eq!((reply.body_bytes, used), (length, bytes.len()));
            }
            Progress::More => panic!("{bytes} is whole"),
        }
    }
}
