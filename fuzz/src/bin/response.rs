//! Answers are framed alike however they are cut and whatever head was seen before, and never
//! beyond the bytes that came. The first byte says how the rest is cut, and whether it answers
//! HEAD.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::response::{KnownHead, Malformed, Progress, Reply, ResponseReader};

/// What an answer was read as: the reply and the bytes it took, or why it is malformed. An answer
/// that the connection's end cut short is one outcome, whether it began or not.
type Outcome = Result<(Reply, usize), Malformed>;

fn read(head_request: bool, known: &mut KnownHead, input: &[u8], piece_bytes: usize) -> Outcome {
    let mut reader = ResponseReader::new(head_request);
    reader.begin(true);
    let mut before = 0;
    for piece in input.chunks(piece_bytes) {
        match reader.read(known, piece)? {
            Progress::More => before += piece.len(),
            Progress::Whole { reply, used } => {
                assert!(used <= piece.len());
                return Ok((reply, before + used));
            }
        }
    }
    reader.read_end().map(|reply| (reply, before))
}

fuzz_target!(|input: &[u8]| {
    let Some((first, input)) = input.split_first() else {
        return;
    };
    let (head_request, piece_bytes) = (first & 1 == 1, usize::from(first >> 1).max(1));
    let mut known = KnownHead::default();
    let whole = read(head_request, &mut known, input, usize::MAX);
    if let Ok((reply, used)) = whole {
        assert_eq!(reply.wire_bytes, used as u64);
        assert!(reply.body_bytes < reply.wire_bytes && (100..1000).contains(&reply.status));
        // What follows an answer does not affect it.
        let alone = read(head_request, &mut known, &input[..used], usize::MAX);
        assert_eq!(alone, whole);
    }
    let pieces = read(head_request, &mut KnownHead::default(), input, piece_bytes);
    assert_eq!(pieces, whole, "in pieces of {piece_bytes}");
    let again = read(head_request, &mut known, input, piece_bytes);
    assert_eq!(
        again, whole,
        "with its head known, in pieces of {piece_bytes}"
    );
});
