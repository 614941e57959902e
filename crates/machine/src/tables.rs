//! The TOML tables that are part of the program.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// A table of our own. It goes by way of a value: code of TOML's own for each type was a fifth of the crate.
///
/// # Panics
/// Where it is none; tests read each.
pub(crate) fn own<T: DeserializeOwned>(text: &str) -> T {
    let value: Value = toml::from_str(text).expect("tests read it");
    serde_json::from_value(value).expect("tests read it")
}
