//! The TOML tables that are part of the program.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Parses a table of our own. It goes through a JSON value: TOML's own code for each type was a
/// fifth of the crate.
///
/// # Panics
/// If the text is no such table; tests read each one.
pub(crate) fn own<T: DeserializeOwned>(text: &str) -> T {
    let value: Value = toml::from_str(text).expect("tests read it");
    serde_json::from_value(value).expect("tests read it")
}
