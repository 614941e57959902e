//! `linerate bench` as a stranger runs it, right and wrong.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/schema.rs"]
mod schema;

mod answers;
mod exports;
mod failures;
mod orders;
mod stopping;

use common::Folder;
use serde_json::Value;

/// The JSON of a comparison that must do well.
fn measured(folder: &Folder, arguments: &[&str]) -> Value {
    let words = [&["bench", "--json"], arguments].concat();
    let text = common::answer(&mut common::linerate(folder, &words));
    serde_json::from_str(&text).unwrap()
}

/// Standard error of a comparison that cannot be run.
fn refused(folder: &Folder, arguments: &[&str]) -> String {
    let words = [&["bench"], arguments].concat();
    let output = common::linerate(folder, &words).output().unwrap();
    let errors = common::errors(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    errors
}
