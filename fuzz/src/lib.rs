//! What several fuzz targets hold their subjects to.

pub mod tls;

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value that was decoded is encoded to a text that decodes to an equal value.
///
/// # Panics
/// When it is not.
pub fn survives_encoding<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).expect("what was decoded can be encoded");
    let again: T = serde_json::from_str(&text).expect("what was encoded can be decoded");
    assert_eq!(&again, value, "{text}");
}
