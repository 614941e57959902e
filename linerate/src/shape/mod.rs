//! What is printed as one JSON value: each is a type, of which its schema in `docs/schema` comes.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

/// The version of every shape that says no other. Keys may be added under the same version; none is
/// renamed, taken away or given another meaning.
const FORMAT: u32 = 1;
/// That of the program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A value that stands alone.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Whole<T> {
    /// Version of this shape.
    #[schemars(extend("const" = FORMAT))]
    format: u32,
    #[serde(flatten)]
    value: T,
}

/// The value over several lines.
pub(crate) fn lines(value: impl Serialize) -> String {
    format!("{:#}", whole(value))
}

/// The value in one line.
pub(crate) fn line(value: impl Serialize) -> String {
    whole(value).to_string()
}

fn whole(value: impl Serialize) -> serde_json::Value {
    let format = FORMAT;
    json!(Whole { format, value })
}
