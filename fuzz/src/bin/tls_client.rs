//! A client's side of TLS: no bytes bring it down, however they are cut, and nothing is content but
//! what the server said. The first byte says whether a server is there whose words are altered, the
//! second how they are cut.
#![no_main]

use fuzz::tls::{self, ANSWER, REQUEST, Speaker};
use libfuzzer_sys::fuzz_target;
use traffic::tls::Version;

fuzz_target!(|input: &[u8]| {
    let [kind, cut, rest @ ..] = input else {
        return;
    };
    let piece_bytes = usize::from(*cut).max(1);
    let version = [Version::Tls12, Version::Tls13][usize::from(kind & 1)];
    if kind & 2 != 0 {
        return tls::client_hears(rest, piece_bytes, version);
    }
    let heard = tls::talk(version, Speaker::Server, rest, piece_bytes);
    assert!(ANSWER.starts_with(&heard.by_client), "{heard:?}");
    let is_whole = heard.by_server == REQUEST && heard.by_client == ANSWER;
    assert!(is_whole || heard.is_altered, "{heard:?}");
});
