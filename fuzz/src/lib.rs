//! What several fuzz targets share.

pub mod http2;
pub mod tls;

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Most pieces that [`pieces`] cuts: more would cost time and find hardly any more faults.
const MOST_PIECES: usize = 32;

/// Cuts bytes into pieces of this size, as they may come out of a socket. After many pieces the
/// rest is one piece.
pub fn pieces(bytes: &[u8], piece_bytes: usize) -> impl Iterator<Item = &[u8]> {
    let (cut, rest) = bytes.split_at(bytes.len().min(piece_bytes.saturating_mul(MOST_PIECES)));
    let rest = (!rest.is_empty()).then_some(rest);
    cut.chunks(piece_bytes).chain(rest)
}

/// Asserts that a value that was decoded can be encoded to a text that decodes to an equal value.
///
/// # Panics
/// When it cannot.
pub fn survives_encoding<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).expect("what was decoded can be encoded");
    let again: T = serde_json::from_str(&text).expect("what was encoded can be decoded");
    assert_eq!(&again, value, "{text}");
}
