//! An end of ours and its peer, and what lies between them.

use super::ours::{self, Ours};
use super::peer::Peer;
use super::{Choice, MOST_TURNS, SharedTls};
use crate::pieces;

/// More bytes than either end takes at one go, and no more than a socket has room for.
const CARRIED_BYTES: usize = 144 * 1024;

pub(super) struct Pair {
    pub(super) ours: Box<dyn Ours>,
    pub(super) peer: Peer,
    /// Content that our end has heard.
    pub(super) by_ours: Vec<u8>,
    /// Content that the peer has heard.
    pub(super) by_peer: Vec<u8>,
}

impl Pair {
    pub(super) fn new(shared: &mut SharedTls, kind: Choice) -> Self {
        Self {
            ours: ours::new(shared, kind),
            peer: shared.peers.connect(kind),
            by_ours: Vec::new(),
            by_peer: Vec::new(),
        }
    }

    /// A pair that has finished its handshake.
    pub(super) fn agreed(shared: &mut SharedTls, kind: Choice) -> Self {
        let mut pair = Self::new(shared, kind);
        for _ in 0..MOST_TURNS {
            pair.bring_ours();
            if !pair.bring_peers(shared, usize::MAX, unaltered, nobody) {
                break;
            }
        }
        pair.bring_ours();
        assert!(pair.ours.is_at_rest() && !pair.peer.is_handshaking());
        pair
    }

    /// Brings the peer what our end has said, and returns whether that was anything.
    pub(super) fn bring_ours(&mut self) -> bool {
        let words = self.ours.said();
        self.peer.hear(&words, &mut self.by_peer);
        !words.is_empty()
    }

    /// Brings our end what the peer has said, in pieces and altered, and returns whether that was
    /// anything. Before each piece it calls `act` with the number of the piece.
    pub(super) fn bring_peers(
        &mut self,
        shared: &mut SharedTls,
        piece_bytes: usize,
        alter: impl FnOnce(&mut [u8]),
        mut act: impl FnMut(&mut Self, &mut SharedTls, usize),
    ) -> bool {
        let mut words = self.peer.said();
        alter(&mut words);
        for (number, piece) in carried(&words, piece_bytes).enumerate() {
            act(self, shared, number);
            self.ours.hear(shared, piece, &mut self.by_ours);
        }
        !words.is_empty()
    }
}

/// Pieces that a socket has room for.
fn carried(words: &[u8], piece_bytes: usize) -> impl Iterator<Item = &[u8]> {
    pieces(words, piece_bytes).flat_map(|piece| piece.chunks(CARRIED_BYTES))
}

/// An `alter` of [`Pair::bring_peers`] that alters nothing.
pub(super) fn unaltered(_words: &mut [u8]) {}

/// An `act` of [`Pair::bring_peers`] that does nothing.
pub(super) fn nobody(_pair: &mut Pair, _shared: &mut SharedTls, _number: usize) {}
