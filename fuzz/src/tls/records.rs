//! Connections whose hands are shaken: content must come as it was said, however it was cut. They are
//! kept from one conversation to the next, as handshakes are dear; each begins where nothing is
//! under way, so that what it finds it finds again alone.

use std::cell::RefCell;
use std::sync::LazyLock;

use model::request::TlsVersion;

use super::ours::OurStage;
use super::pair::{Pair, nobody, unaltered};
use super::{Choice, PLACE, Role, SharedTls};

/// Bytes of one turn in a script.
const TURN_BYTES: usize = 4;
/// What a byte counts where a script says how much is said: some bytes, a record, what is encrypted
/// at one go, more than a socket takes.
const SCALES: [usize; 4] = [1, 67, 257, 1031];
/// Of a script no more is said, with few exceptions; then its turns say nothing.
const MUCH_CONTENT_BYTES: usize = 40 * 1024;
const MOST_CONTENT_BYTES: usize = 300 * 1024;
/// Where records are small, and many therefore, it is one part of so many.
const SMALL_PART: usize = 16;
/// An end that needs more to say something says nothing any more.
const MOST_SENDS: usize = 1000;
/// So often there is little room; then what is left may leave at one go.
const TIGHT_SENDS: usize = 16;
/// Turns begin in different places of the content, so many bytes after one another.
const PLACES: usize = 16;
const STEP_BYTES: usize = 251;

/// What is said, without a period that a buffer could have.
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

/// A script's turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    kind: Choice,
    act: Act,
    content: &'static [u8],
    /// How the peer's words are cut, and what room there is for ours.
    piece_bytes: usize,
    /// In the middle of what the peer says, ours speaks.
    is_interrupted: bool,
    place: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    PeerSays,
    WeSay,
    /// The peer takes new keys and wants new ones.
    NewKeys,
    /// After which the pair is of no more use.
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
        // Ours takes its new keys when it has something to say, and bears few where nothing is said.
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

/// Some bytes, or nearly records.
fn piece_bytes(cut: u8) -> usize {
    match usize::from(cut) {
        few @ 0..200 => few + 1,
        many => (many - 199) * 601,
    }
}

/// Holds a conversation on the connection that is kept for its kind. Only one that `may_be_dear` may
/// cost that connection, or say as much as a socket does not take.
pub fn converse(number: u8, script: &[u8], may_be_dear: bool) {
    let kind = Choice::of(number);
    let number = usize::from(number) % Choice::COUNT;
    PLACE.with_borrow_mut(|place| {
        let kept = KEPT.with_borrow_mut(|kept| kept[number].take());
        let mut pair = kept.unwrap_or_else(|| Pair::agreed(place, kind));
        if follow(script, kind, may_be_dear, &mut pair, place) {
            KEPT.with_borrow_mut(|kept| kept[number] = Some(pair));
        }
    });
}

/// Whether the pair can be kept.
fn follow(
    script: &[u8],
    kind: Choice,
    is_dear: bool,
    pair: &mut Pair,
    place: &mut SharedTls,
) -> bool {
    let (turns, _) = script.as_chunks();
    let most = [MUCH_CONTENT_BYTES, MOST_CONTENT_BYTES][usize::from(is_dear)];
    let mut left = most / [1, SMALL_PART][usize::from(kind.is_small)];
    for (number, turn) in turns.iter().enumerate() {
        let turn = Turn::of(*turn, number, kind, &mut left);
        match turn.act {
            Act::Ends if is_dear => {
                turn.end(pair, place);
                return false;
            }
            Act::PeerSays | Act::Ends => turn.peer_says(pair, place),
            Act::WeSay => turn.we_say(turn.content, pair, place),
            Act::NewKeys => turn.update_keys(pair, place),
        }
        assert_eq!(pair.ours.stage(), OurStage::Open, "{turn:?}");
    }
    assert!(pair.ours.is_at_rest() && pair.peer.said().is_empty());
    true
}

impl Turn {
    fn peer_says(&self, pair: &mut Pair, place: &mut SharedTls) {
        let interrupt = |pair: &mut Pair, place: &mut SharedTls, number| {
            if self.is_interrupted && number == usize::from(self.place) {
                let some = self.content.len().min(number);
                self.we_say(&self.content[..some], pair, place);
            }
        };
        pair.peer.say(self.content);
        pair.bring_peers(place, self.piece_bytes, unaltered, interrupt);
        assert!(pair.by_ours == self.content, "{self:?}");
        pair.by_ours.clear();
    }

    fn we_say(&self, content: &[u8], pair: &mut Pair, place: &mut SharedTls) {
        let mut taken = 0;
        for sends in 0..MOST_SENDS {
            let room_bytes = match sends < TIGHT_SENDS {
                true => self.piece_bytes,
                false => usize::MAX,
            };
            taken += pair.ours.say(place, &content[taken..], room_bytes);
            pair.bring_ours();
            if taken == content.len() && !pair.ours.has_output() {
                break;
            }
        }
        assert!(pair.by_peer == content, "{self:?}");
        pair.by_peer.clear();
    }

    fn update_keys(&self, pair: &mut Pair, place: &mut SharedTls) {
        if self.kind.version == TlsVersion::Tls13 {
            pair.peer.update_keys();
        }
        self.peer_says(pair, place);
        // Which leaves with the new ones.
        self.we_say(self.content, pair, place);
    }

    fn end(&self, pair: &mut Pair, place: &mut SharedTls) {
        match self.place & 3 {
            0 => self.peer_leaves(pair, place),
            1 => self.we_leave(pair, place),
            _ => self.somebody_alters(pair, place),
        }
    }

    /// What is said to it may still come.
    fn peer_leaves(&self, pair: &mut Pair, place: &mut SharedTls) {
        pair.peer.say(self.content);
        pair.peer.say_goodbye();
        pair.bring_peers(place, self.piece_bytes, unaltered, nobody);
        assert!(pair.by_ours == self.content, "{self:?}");
        assert_eq!(pair.ours.stage(), OurStage::Ended, "{self:?}");
        self.we_say(self.content, pair, place);
    }

    fn we_leave(&self, pair: &mut Pair, place: &mut SharedTls) {
        pair.ours.say(place, self.content, usize::MAX);
        pair.ours.say_goodbye(place);
        let words = pair.ours.said();
        let goes_on = pair.peer.hear(&words, &mut pair.by_peer);
        assert!(self.content.starts_with(&pair.by_peer), "{self:?}");
        let is_told = pair.by_peer == self.content && !goes_on;
        assert!(is_told || self.kind.ours == Role::Client, "{self:?}");
    }

    /// Nothing that was altered is content.
    fn somebody_alters(&self, pair: &mut Pair, place: &mut SharedTls) {
        pair.peer.say(self.content);
        let alter = |words: &mut [u8]| {
            let at = usize::from(self.place) * words.len() / 256;
            let altered = words.iter_mut().skip(at).take(1);
            altered.for_each(|byte| *byte ^= self.place);
        };
        pair.bring_peers(place, self.piece_bytes, alter, nobody);
        assert!(self.content.starts_with(&pair.by_ours), "{self:?}");
    }
}
