//! `linerate bench` as a new user runs it, with right and wrong command lines.

use crate::common;

mod answers;
mod exports;
mod failures;
mod folder;
mod orders;
mod stopping;

use crate::common::Folder;
use serde_json::Value;

/// The JSON of a comparison that must succeed.
pub(crate) fn measured(folder: &Folder, arguments: &[&str]) -> Value {
    let words = [&["bench", "--hyperfine=1", "--json"], arguments].concat();
    let text = common::answer(&mut common::linerate(folder, &words));
    serde_json::from_str(&text).unwrap()
}

/// Standard error of a comparison that must exit with 2.
fn refused(folder: &Folder, arguments: &[&str]) -> String {
    let words = [&["bench", "--hyperfine=1"], arguments].concat();
    let output = common::linerate(folder, &words).output().unwrap();
    let errors = common::errors(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    errors
}
