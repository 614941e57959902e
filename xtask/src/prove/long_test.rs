//! A test that a variable makes longer than a commit has time for.

use anyhow::ensure;

use crate::{target, tests_run};

/// What became of it.
pub(super) struct Ran {
    pub(super) held: bool,
    /// What it printed.
    pub(super) words: String,
    pub(super) seconds: f64,
}

/// Runs one test of a binary of `linerate`, with a variable set.
pub(super) fn run(binary: &str, test: &str, variable: &str, value: &str) -> anyhow::Result<Ran> {
    let begun = sys::clock::now();
    let words = ["test", "--quiet", "--package", "linerate", "--test", binary];
    let only = [
        "--profile",
        tests_run::PROFILE,
        "--",
        "--exact",
        "--nocapture",
        test,
    ];
    let output = target::cargo(&[&words[..], &only].concat())
        .env(variable, value)
        .output()?;
    let (said, errors) = (&output.stdout, &output.stderr);
    let [mut words, errors] = [said, errors].map(|text| String::from_utf8_lossy(text).into_owned());
    // A test under another name would be none, and pass.
    let ran = words.contains("1 passed") || words.contains("1 failed");
    ensure!(ran, "{words}{errors}");
    let held = output.status.success();
    if !held {
        // Why it did not, it says there.
        words += &errors;
    }
    Ok(Ran {
        held,
        words,
        seconds: begun.elapsed().as_secs_f64(),
    })
}
