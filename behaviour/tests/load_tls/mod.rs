//! `linerate load` over https://: what it measures, whom it trusts, and who lies to it.

pub(crate) mod certificates;
use crate::common;
mod liars;
use crate::common::load_program;
mod measured;
mod nginx;
pub(crate) mod relay;
mod trust;

/// What a load that must not run says.
fn refusal(url: &str, arguments: &[&str]) -> String {
    let arguments = [&["-d", "100ms"], arguments].concat();
    common::refused(&load_program::load(url, &arguments))
}
