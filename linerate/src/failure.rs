//! Failures as errors for a person.

use anyhow::anyhow;
use model::failure::Failure;

/// Returns a failure and its advice as an error: one line, or several if it shows logs.
pub(crate) fn words(failure: Failure) -> anyhow::Error {
    let Failure { what, advice } = failure;
    match advice.as_str() {
        "" => anyhow!(what),
        advice => anyhow!("{what}; {advice}"),
    }
}
