//! How fast one CPU encrypts and digests, with the code that TLS uses here.

use std::hint::black_box;

use aws_lc_rs::aead::{
    AES_128_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use aws_lc_rs::digest::{SHA256, digest};
use sys::clock;

use super::ProbeError;

/// The largest record that TLS encrypts, bytes.
const RECORD_BYTES: usize = 16 << 10;
/// How long each value is measured.
const VALUE_NS: u64 = 5_000_000;

pub(super) static AES_128: &Algorithm = &AES_128_GCM;
pub(super) static CHACHA20: &Algorithm = &CHACHA20_POLY1305;

/// Bytes per second that are encrypted, in records of 16 KiB.
pub(super) fn sealed_bytes_per_second(by: &'static Algorithm) -> Result<f64, ProbeError> {
    let key = vec![7; by.key_len()];
    let key = UnboundKey::new(by, &key).map_err(|_| ProbeError::Crypto)?;
    let key = LessSafeKey::new(key);
    let mut record = vec![0; RECORD_BYTES];
    bytes_per_second(|| {
        // The records are thrown away, so the nonce may repeat.
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), &mut record);
        tag.map(|tag| _ = black_box(tag))
            .map_err(|_| ProbeError::Crypto)
    })
}

/// Bytes per second that are digested, 16 KiB at a time.
pub(super) fn digested_bytes_per_second() -> Result<f64, ProbeError> {
    let record = vec![0; RECORD_BYTES];
    bytes_per_second(|| {
        black_box(digest(&SHA256, &record));
        Ok(())
    })
}

fn bytes_per_second(mut one: impl FnMut() -> Result<(), ProbeError>) -> Result<f64, ProbeError> {
    let begun_ns = clock::monotonic_ns();
    let (mut bytes, mut passed_ns) = (0, 0);
    while passed_ns < VALUE_NS {
        one()?;
        bytes += RECORD_BYTES;
        passed_ns = clock::monotonic_ns() - begun_ns;
    }
    Ok(bytes as f64 / (passed_ns as f64 / 1e9))
}
