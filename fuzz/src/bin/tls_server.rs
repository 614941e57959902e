//! A server's side of TLS: no bytes bring it down, however they are cut, and nothing is content but
//! what a client said. The first byte says whether a client is there whose words are altered, the
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
    let version = match kind & 3 {
        0 => Version::Tls12,
        1 => Version::Tls13,
        _ => return tls::server_hears(rest, piece_bytes),
    };
    let heard = tls::talk(version, Speaker::Client, rest, piece_bytes);
    assert!(REQUEST.starts_with(&heard.by_server), "{heard:?}");
    let is_whole = heard.by_server == REQUEST && heard.by_client == ANSWER;
    assert!(is_whole || heard.is_altered, "{heard:?}");
});
