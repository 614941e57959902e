//! Answers over HTTP/2: each request gets its own answer, whole, however answers are cut and mixed.
//! The first byte says how they are cut, the second how many there are. Each further pair of bytes
//! says which answer's body gets a piece next, and how long the piece is.
#![no_main]

use fuzz::http2::{Answer, hear};
use libfuzzer_sys::fuzz_target;

/// Most answers: the lowest three bits of a byte give their number.
const MOST_ANSWERS: u8 = 8;
/// Bytes of a body that one unit of the length byte stands for.
const SCALES: [usize; 2] = [1, 60];
/// An empty SETTINGS frame, and one that acknowledges the client's.
const PREFACE: [u8; 18] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0];
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// The head of an answer: `:status: 200`, from the static table (RFC 7541, appendix A).
const OK: u8 = 0x88;

/// What a server says, and the answers that must come of it.
struct Server {
    words: Vec<u8>,
    answers: Vec<Answer>,
}

impl Server {
    fn new(count: u8) -> Self {
        let head = Answer {
            status: Some(200),
            ..Answer::default()
        };
        let mut server = Self {
            words: Vec::new(),
            answers: vec![head; usize::from(count)],
        };
        for number in 0..count {
            server.frame(1, END_HEADERS, number, &[OK]);
        }
        server
    }

    /// Says a frame of a stream. Clients give their streams odd numbers (RFC 9113 §5.1.1).
    fn frame(&mut self, kind: u8, flags: u8, number: u8, payload: &[u8]) {
        let [.., high, middle, low] = payload.len().to_be_bytes();
        let head = [high, middle, low, kind, flags, 0, 0, 0, number * 2 + 1];
        self.words.extend(head.iter().chain(payload));
    }

    fn send_body(&mut self, number: u8, bytes: usize) {
        let begin = self.words.len();
        // Bytes that differ from those of the piece before.
        let body: Vec<u8> = (begin..begin + bytes)
            .map(|at| (at * at / 7) as u8)
            .collect();
        self.frame(0, 0, number, &body);
        self.answers[usize::from(number)].body.extend(body);
    }

    fn end(&mut self, number: u8) {
        self.frame(0, END_STREAM, number, b"");
        self.answers[usize::from(number)].is_whole = true;
    }
}

fuzz_target!(|input: &[u8]| {
    let [cut, count, turns @ ..] = input else {
        return;
    };
    let count = count % MOST_ANSWERS + 1;
    let mut server = Server::new(count);
    for [whose, size] in turns.as_chunks().0 {
        let scale = SCALES[usize::from(whose >> 7)];
        server.send_body(whose % count, usize::from(*size) * scale);
    }
    (0..count).for_each(|number| server.end(number));
    let heard = hear(count, &PREFACE, &server.words, usize::from(*cut).max(1));
    assert!(heard == server.answers, "{heard:?}");
});
