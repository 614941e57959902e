//! Why something could not be done, for a person.

use anyhow::anyhow;
use model::failure::Failure;

/// In one line, or several where it shows logs.
pub(crate) fn words(failure: Failure) -> anyhow::Error {
    let Failure { what, advice } = failure;
    match advice.as_str() {
        "" => anyhow!(what),
        advice => anyhow!("{what}; {advice}"),
    }
}
