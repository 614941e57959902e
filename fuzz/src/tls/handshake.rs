//! From the first byte on: what is no TLS at all, and handshakes that somebody alters.

use super::ours;
use super::pair::Pair;
use super::{ANSWER, Choice, MOST_TURNS, PLACE, REQUEST, Role, SharedTls};
use crate::pieces;

/// Our end says so much at once.
const PART_BYTES: usize = 4;

/// What became of an exchange.
#[derive(Debug, Default)]
pub struct Heard {
    pub by_ours: Vec<u8>,
    pub by_peer: Vec<u8>,
    /// Something did not come as it was said.
    pub is_altered: bool,
}

/// Bytes are altered as `changes` has it, whose pairs are how many go by unaltered and what is then
/// XORed.
struct Changes<'a> {
    changes: &'a [u8],
    passed: usize,
    is_altered: bool,
}

impl Changes<'_> {
    fn alter(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            let [gap, mask, rest @ ..] = self.changes else {
                return;
            };
            if self.passed < usize::from(*gap) {
                self.passed += 1;
                continue;
            }
            *byte ^= mask;
            self.is_altered |= *mask != 0;
            (self.passed, self.changes) = (0, rest);
        }
    }
}

/// Our end hears these bytes, in pieces, from the first one on.
pub fn hears(kind: Choice, bytes: &[u8], piece_bytes: usize) {
    PLACE.with_borrow_mut(|place| {
        let mut end = ours::new(place, kind);
        let mut heard = Vec::new();
        for piece in pieces(bytes, piece_bytes) {
            end.hear(place, piece, &mut heard);
            // What it says is read, so that there is always room.
            end.said();
        }
        assert_eq!(heard, b"", "content before keys were agreed on");
    });
}

/// A handshake, a request and its answer. What our end hears is cut into pieces and altered.
pub fn shake_hands(kind: Choice, changes: &[u8], piece_bytes: usize) -> Heard {
    let mut changes = Changes {
        changes,
        passed: 0,
        is_altered: false,
    };
    PLACE.with_borrow_mut(|place| {
        let mut pair = Pair::new(place, kind);
        let mut unsaid = Unsaid::new(kind);
        for _ in 0..MOST_TURNS {
            let mut spoke = unsaid.speak(&mut pair, place, kind) | pair.bring_ours();
            spoke |= pair.bring_peers(
                place,
                piece_bytes,
                |words| changes.alter(words),
                |pair, place, _| {
                    unsaid.speak(pair, place, kind);
                },
            );
            if !spoke {
                return Heard {
                    by_ours: pair.by_ours,
                    by_peer: pair.by_peer,
                    is_altered: changes.is_altered,
                };
            }
        }
        panic!("they never fall silent");
    })
}

/// What is still to be said by each end.
struct Unsaid {
    ours: &'static [u8],
    peers: Option<&'static [u8]>,
}

impl Unsaid {
    fn new(kind: Choice) -> Self {
        let (ours, peers) = match kind.ours {
            Role::Client => (REQUEST, ANSWER),
            Role::Server => (ANSWER, REQUEST),
        };
        Self {
            ours,
            peers: Some(peers),
        }
    }

    /// Has whoever may speak do so, and tells whether anybody did: a client once hands are shaken, a
    /// server once it has heard the request.
    fn speak(&mut self, pair: &mut Pair, place: &mut SharedTls, kind: Choice) -> bool {
        let (ours_may, peer_may) = match kind.ours {
            Role::Client => (pair.ours.is_at_rest(), pair.by_peer == REQUEST),
            // Which keeps it until it may.
            Role::Server => (pair.by_ours == REQUEST, true),
        };
        if ours_may && !self.ours.is_empty() {
            self.say_some(pair, place);
            return true;
        }
        let words = self.peers.take_if(|_| peer_may);
        words.inspect(|words| pair.peer.say(words)).is_some()
    }

    /// A part, so that others are said while messages of the peer have come in part.
    fn say_some(&mut self, pair: &mut Pair, place: &mut SharedTls) {
        let (part, rest) = self.ours.split_at(self.ours.len().min(PART_BYTES));
        pair.ours.say(place, part, usize::MAX);
        self.ours = rest;
    }
}
