//! Holds JSON that the program printed against its schema in `docs/schema`.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

use std::path::PathBuf;

use jsonschema::{Registry, Validator};
use serde_json::Value;

/// Fails unless `value` is of the shape that `docs/schema/NAME.json` describes.
pub(crate) fn holds(name: &str, value: &Value) {
    let wrong: Vec<String> = validator(name)
        .iter_errors(value)
        .map(|error| format!("at `{}`: {error}", error.instance_path()))
        .collect();
    assert!(
        wrong.is_empty(),
        "against docs/schema/{name}.json:\n{}\nin {value:#}",
        wrong.join("\n")
    );
}

fn validator(name: &str) -> Validator {
    let common = Registry::new()
        .add("file:///common.json", read("common"))
        .and_then(|registry| registry.add("file:///command-parts.json", read("command-parts")))
        .and_then(jsonschema::RegistryBuilder::prepare)
        .unwrap();
    jsonschema::draft202012::options()
        .with_base_uri(format!("file:///{name}.json"))
        .with_registry(&common)
        .build(&read(name))
        .unwrap_or_else(|error| panic!("docs/schema/{name}.json is no schema: {error}"))
}

/// The schema of that name.
pub(crate) fn read(name: &str) -> Value {
    let path = folder().join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Where the schemas are.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/schema")
}
