//! Small text files under `/proc` and `/sys`.

use std::fs;
use std::path::Path;

/// Returns the file's text without the white space around it; `None` when it cannot be read.
pub fn text(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

/// Returns the file's text as a number; `None` when it cannot be read or is no number.
pub fn number<N: std::str::FromStr>(path: impl AsRef<Path>) -> Option<N> {
    text(path)?.parse().ok()
}
