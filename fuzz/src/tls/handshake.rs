//! Connections from the first byte on: bytes that are not TLS at all, and handshakes that are
//! altered on the way.

use super::ours;
use super::pair::Pair;
use super::{ANSWER, Choice, MOST_TURNS, REQUEST, Role, SHARED, SharedTls};
use crate::pieces;

/// Content that our end says at once.
const PART_BYTES: usize = 4;

/// What both ends heard in an exchange.
#[derive(Debug, Default)]
pub struct Heard {
    pub by_ours: Vec<u8>,
    pub by_peer: Vec<u8>,
    /// Whether something did not arrive at our end as it was said.
    pub is_altered: bool,
}

/// Alters bytes. Each pair in `changes` says how many bytes pass unaltered, and with what the next
/// one is XORed.
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

/// Lets our end hear these bytes, in pieces, from the first one on.
pub fn hears(kind: Choice, bytes: &[u8], piece_bytes: usize) {
    SHARED.with_borrow_mut(|shared| {
        let mut end = ours::new(shared, kind);
        let mut heard = Vec::new();
        for piece in pieces(bytes, piece_bytes) {
            end.hear(shared, piece, &mut heard);
            // Its output is read, so that there is always room for it.
            end.said();
        }
        assert_eq!(heard, b"", "content before keys were agreed on");
    });
}

/// Runs a handshake, a request and its answer. What our end hears is cut into pieces and altered.
pub fn shake_hands(kind: Choice, changes: &[u8], piece_bytes: usize) -> Heard {
    let mut changes = Changes {
        changes,
        passed: 0,
        is_altered: false,
    };
    SHARED.with_borrow_mut(|shared| {
        let mut pair = Pair::new(shared, kind);
        let mut unsaid = Unsaid::new(kind);
        for _ in 0..MOST_TURNS {
            let mut spoke = unsaid.speak(&mut pair, shared, kind) | pair.bring_ours();
            spoke |= pair.bring_peers(
                shared,
                piece_bytes,
                |words| changes.alter(words),
                |pair, shared, _| {
                    unsaid.speak(pair, shared, kind);
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

    /// Lets the ends speak that may, and returns whether one did: a client may after the handshake,
    /// a server once it has heard the request.
    fn speak(&mut self, pair: &mut Pair, shared: &mut SharedTls, kind: Choice) -> bool {
        let (ours_may, peer_may) = match kind.ours {
            Role::Client => (pair.ours.is_at_rest(), pair.by_peer == REQUEST),
            // A client of rustls keeps its content until it may send it.
            Role::Server => (pair.by_ours == REQUEST, true),
        };
        if ours_may && !self.ours.is_empty() {
            self.say_some(pair, shared);
            return true;
        }
        let words = self.peers.take_if(|_| peer_may);
        words.inspect(|words| pair.peer.say(words)).is_some()
    }

    /// Says a part, so that other parts are said while messages of the peer have come only in part.
    fn say_some(&mut self, pair: &mut Pair, shared: &mut SharedTls) {
        let (part, rest) = self.ours.split_at(self.ours.len().min(PART_BYTES));
        pair.ours.say(shared, part, usize::MAX);
        self.ours = rest;
    }
}
