//! Content over TLS, once hands are shaken: it comes as it was said, in both directions, however
//! records are cut, whatever room there is for them, and nothing else does. The first byte says of
//! what kind the connection is, four each what happens then.
#![no_main]

use fuzz::tls;
use libfuzzer_sys::fuzz_target;

/// Of so many inputs one may be dear, as are those that cost a connection: the next needs a handshake.
const DEAR_ONE_IN: u64 = 64;

fuzz_target!(|input: &[u8]| {
    if let Some((kind, script)) = input.split_first() {
        tls::converse(*kind, script, digest(input) % DEAR_ONE_IN == 0);
    }
});

/// Whatever the fuzzer prefers, few of its inputs have a certain one (FNV-1a).
fn digest(input: &[u8]) -> u64 {
    let mix = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    input.iter().fold(0xcbf2_9ce4_8422_2325, mix) >> 40
}
