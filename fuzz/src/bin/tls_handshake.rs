//! Handshakes that are altered on the way: only what the peer said becomes content, and without
//! alterations all of it does. The first byte chooses the kind of connection, the second how the
//! bytes that our end hears are cut; the rest are the alterations.
#![no_main]

use fuzz::tls::{self, ANSWER, Choice, REQUEST, Role};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [kind, cut, changes @ ..] = input else {
        return;
    };
    let kind = Choice::of(*kind);
    let (for_ours, for_peer) = match kind.ours {
        Role::Server => (REQUEST, ANSWER),
        Role::Client => (ANSWER, REQUEST),
    };
    let heard = tls::shake_hands(kind, changes, usize::from(*cut).max(1));
    assert!(for_ours.starts_with(&heard.by_ours), "{heard:?}");
    let is_whole = heard.by_ours == for_ours && heard.by_peer == for_peer;
    assert!(is_whole || heard.is_altered, "{heard:?}");
});
