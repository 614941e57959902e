//! Any bytes where TLS should be: they bring neither our client nor our server down, however they
//! are cut, and none of them becomes content. The first byte chooses the kind of connection, the
//! second how the rest is cut.
#![no_main]

use fuzz::tls::{self, Choice};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let [kind, cut, bytes @ ..] = input {
        tls::hears(Choice::of(*kind), bytes, usize::from(*cut).max(1));
    }
});
