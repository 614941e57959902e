//! What an end of a rig could not do, for a person.

use anyhow::anyhow;
use model::failure::Failure;

pub(crate) fn words(failure: Failure) -> anyhow::Error {
    let Failure { what, advice } = failure;
    anyhow!("{what}; {advice}")
}
