//! Any bytes where TLS should be: they bring neither end down, however they are cut, and none of them
//! is content. The first byte says of what kind the connection is, the second how they are cut.
#![no_main]

use fuzz::tls::{self, Choice};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let [kind, cut, bytes @ ..] = input {
        tls::hears(Choice::of(*kind), bytes, usize::from(*cut).max(1));
    }
});
