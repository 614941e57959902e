//! Content over TLS after the handshake: it arrives as it was said, in both directions, however
//! records are cut and whatever room there is for them, and nothing else arrives. The first byte
//! chooses the kind of connection; each further four bytes are one turn of the conversation.
#![no_main]

use fuzz::tls;
use libfuzzer_sys::fuzz_target;

/// One input in this many may be costly, as one is that uses up a connection: the next input needs
/// a handshake.
const COSTLY_ONE_IN: u64 = 64;

fuzz_target!(|input: &[u8]| {
    if let Some((kind, script)) = input.split_first() {
        tls::converse(*kind, script, digest(input) % COSTLY_ONE_IN == 0);
    }
});

/// FNV-1a: whatever inputs the fuzzer prefers, few of them have a given digest.
fn digest(input: &[u8]) -> u64 {
    let mix = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    input.iter().fold(0xcbf2_9ce4_8422_2325, mix) >> 40
}
