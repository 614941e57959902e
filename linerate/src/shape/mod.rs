//! What is printed as one JSON value: each is a type, from which its schema in `docs/schema` is
//! made.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

/// Version of every shape that states no other. Keys may be added under the same version; none is
/// renamed, removed or given another meaning.
const FORMAT: u32 = 1;
/// Version of the program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A value that is printed alone, with the version of its shape.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Whole<T> {
    /// Version of this shape.
    #[schemars(extend("const" = FORMAT))]
    format: u32,
    #[serde(flatten)]
    value: T,
}

/// Returns the value as JSON over several lines.
pub(crate) fn lines(value: impl Serialize) -> String {
    format!("{:#}", whole(value))
}

/// Returns the value as JSON in one line.
pub(crate) fn line(value: impl Serialize) -> String {
    whole(value).to_string()
}

fn whole(value: impl Serialize) -> serde_json::Value {
    let format = FORMAT;
    json!(Whole { format, value })
}
