//! Connections after their handshake: content must arrive as it was said, however it was cut. They
//! are kept from one conversation to the next, because handshakes are costly. Each conversation
//! begins where nothing is under way, so that a fault that it finds can be reproduced by it alone.

use std::cell::RefCell;
use std::sync::LazyLock;

use model::request::TlsVersion;

use super::ours::OurStage;
use super::pair::{Pair, nobody, unaltered};
use super::{Choice, Role, SHARED, SharedTls};

/// Bytes of one turn in a script.
const TURN_BYTES: usize = 4;
/// Bytes that one unit of a script's length byte stands for. They make lengths up to some bytes, a
/// record, what is encrypted at one go, and more than a socket takes.
const SCALES: [usize; 4] = [1, 67, 257, 1031];
/// Most content that a script says, except a costly one. Further turns say nothing, or one byte
/// where keys change.
const MUCH_CONTENT_BYTES: usize = 40 * 1024;
const MOST_CONTENT_BYTES: usize = 300 * 1024;
/// Where records are small, and therefore many, a script says this many times less.
const SMALL_PART: usize = 16;
/// An end that has not said something after this many sends never will.
const MOST_SENDS: usize = 1000;
/// The first sends find little room; after this many, what is left may leave at one go.
const TIGHT_SENDS: usize = 16;
/// Turns begin in this many different places of the content, `STEP_BYTES` apart.
const PLACES: usize = 16;
const STEP_BYTES: usize = 251;

/// The content that is said. It has no period that could match the size of a buffer.
static CONTENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(&mut next)
        .take(MOST_CONTENT_BYTES + PLACES * STEP_BYTES)
        .collect()
});

thread_local! {
    static KEPT: RefCell<[Option<Pair>; Choice::COUNT]> = RefCell::default();
}

/// One turn of a script.
#[derive(Clone, Copy, Debug)]
struct Turn {
    kind: Choice,
    act: Act,
    content: &'static [u8],
    /// Size of the pieces into which the peer's words are cut, and of the room for ours.
    piece_bytes: usize,
    /// Our end speaks in the middle of what the peer says.
    is_interrupted: bool,
    place: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    PeerSays,
    WeSay,
    /// The peer changes its keys and asks our end to change its own.
    NewKeys,
    /// The connection ends, and the pair is of no more use.
    Ends,
}

impl Turn {
    fn of(
        [what, size, cut, place]: [u8; TURN_BYTES],
        number: usize,
        kind: Choice,
        left: &mut usize,
    ) -> Self {
        let act = match what >> 2 & 7 {
            0..=2 => Act::PeerSays,
            3..=5 => Act::WeSay,
            6 => Act::NewKeys,
            _ => Act::Ends,
        };
        let size = usize::from(size) * SCALES[usize::from(what & 3)];
        // Our end changes its keys when it has something to say, and tolerates few changes without
        // that.
        let size = size.min(*left).max(usize::from(act == Act::NewKeys));
        *left = left.saturating_sub(size);
        Self {
            kind,
            act,
            content: &CONTENT[number % PLACES * STEP_BYTES..][..size],
            piece_bytes: piece_bytes(cut),
            is_interrupted: what >> 5 & 1 == 1,
            place,
        }
    }
}

/// Size of a piece: some bytes, or up to about two records.
fn piece_bytes(cut: u8) -> usize {
    match usize::from(cut) {
        few @ 0..200 => few + 1,
        many => (many - 199) * 601,
    }
}

/// Holds a conversation on the connection that is kept for its kind. Only a conversation that
/// `may_be_costly` may use up that connection, or say more than a socket takes.
pub fn converse(number: u8, script: &[u8], may_be_costly: bool) {
    let kind = Choice::of(number);
    let number = usize::from(number) % Choice::COUNT;
    SHARED.with_borrow_mut(|shared| {
        let kept = KEPT.with_borrow_mut(|kept| kept[number].take());
        let mut pair = kept.unwrap_or_else(|| Pair::agreed(shared, kind));
        if follow(script, kind, may_be_costly, &mut pair, shared) {
            KEPT.with_borrow_mut(|kept| kept[number] = Some(pair));
        }
    });
}

/// Follows a script. Returns whether the pair can be kept.
fn follow(
    script: &[u8],
    kind: Choice,
    is_costly: bool,
    pair: &mut Pair,
    shared: &mut SharedTls,
) -> bool {
    let (turns, _) = script.as_chunks();
    let most = [MUCH_CONTENT_BYTES, MOST_CONTENT_BYTES][usize::from(is_costly)];
    let mut left = most / [1, SMALL_PART][usize::from(kind.is_small)];
    for (number, turn) in turns.iter().enumerate() {
        let turn = Turn::of(*turn, number, kind, &mut left);
        match turn.act {
            Act::Ends if is_costly => {
                turn.end(pair, shared);
                return false;
            }
            Act::PeerSays | Act::Ends => turn.peer_says(pair, shared),
            Act::WeSay => turn.we_say(turn.content, pair, shared),
            Act::NewKeys => turn.update_keys(pair, shared),
        }
        assert_eq!(pair.ours.stage(), OurStage::Open, "{turn:?}");
    }
    assert!(pair.ours.is_at_rest() && pair.peer.said().is_empty());
    true
}

impl Turn {
    fn peer_says(&self, pair: &mut Pair, shared: &mut SharedTls) {
        let interrupt = |pair: &mut Pair, shared: &mut SharedTls, number| {
            if self.is_interrupted && number == usize::from(self.place) {
                let some = self.content.len().min(number);
                self.we_say(&self.content[..some], pair, shared);
            }
        };
        pair.peer.say(self.content);
        pair.bring_peers(shared, self.piece_bytes, unaltered, interrupt);
        assert!(pair.by_ours == self.content, "{self:?}");
        pair.by_ours.clear();
    }

    fn we_say(&self, content: &[u8], pair: &mut Pair, shared: &mut SharedTls) {
        let mut taken = 0;
        for sends in 0..MOST_SENDS {
            let room_bytes = match sends < TIGHT_SENDS {
                true => self.piece_bytes,
                false => usize::MAX,
            };
            taken += pair.ours.say(shared, &content[taken..], room_bytes);
            pair.bring_ours();
            if taken == content.len() && !pair.ours.has_output() {
                break;
            }
        }
        assert!(pair.by_peer == content, "{self:?}");
        pair.by_peer.clear();
    }

    fn update_keys(&self, pair: &mut Pair, shared: &mut SharedTls) {
        if self.kind.version == TlsVersion::Tls13 {
            pair.peer.update_keys();
        }
        self.peer_says(pair, shared);
        // This leaves with the new keys.
        self.we_say(self.content, pair, shared);
    }

    fn end(&self, pair: &mut Pair, shared: &mut SharedTls) {
        match self.place & 3 {
            0 => self.peer_leaves(pair, shared),
            1 => self.we_leave(pair, shared),
            _ => self.somebody_alters(pair, shared),
        }
    }

    /// The peer says goodbye. What our end says to it must still arrive.
    fn peer_leaves(&self, pair: &mut Pair, shared: &mut SharedTls) {
        pair.peer.say(self.content);
        pair.peer.say_goodbye();
        pair.bring_peers(shared, self.piece_bytes, unaltered, nobody);
        assert!(pair.by_ours == self.content, "{self:?}");
        assert_eq!(pair.ours.stage(), OurStage::Ended, "{self:?}");
        self.we_say(self.content, pair, shared);
    }

    fn we_leave(&self, pair: &mut Pair, shared: &mut SharedTls) {
        pair.ours.say(shared, self.content, usize::MAX);
        pair.ours.say_goodbye(shared);
        let words = pair.ours.said();
        let goes_on = pair.peer.hear(&words, &mut pair.by_peer);
        assert!(self.content.starts_with(&pair.by_peer), "{self:?}");
        let is_told = pair.by_peer == self.content && !goes_on;
        assert!(is_told || self.kind.ours == Role::Client, "{self:?}");
    }

    /// Alters one byte of what the peer says. Nothing that was altered may become content.
    fn somebody_alters(&self, pair: &mut Pair, shared: &mut SharedTls) {
        pair.peer.say(self.content);
        let alter = |words: &mut [u8]| {
            let at = usize::from(self.place) * words.len() / 256;
            let altered = words.iter_mut().skip(at).take(1);
            altered.for_each(|byte| *byte ^= self.place);
        };
        pair.bring_peers(shared, self.piece_bytes, alter, nobody);
        assert!(self.content.starts_with(&pair.by_ours), "{self:?}");
    }
}
