//! `linerate load` over https://: what it measures, whom it trusts, and who lies to it.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

mod certificates;
#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "a test uses what it needs of it")]
mod common;
mod liars;
#[path = "../load_program/mod.rs"]
#[expect(dead_code, reason = "a test uses what it needs of it")]
mod load_program;
#[path = "../load_server/mod.rs"]
mod load_server;
mod measured;
mod nginx;
mod relay;
#[path = "../common/schema.rs"]
mod schema;
#[path = "../common/server.rs"]
mod server;
mod trust;

/// What a load that must not run says.
fn refusal(url: &str, arguments: &[&str]) -> String {
    let output = load_program::load(url, &[&["-d", "100ms"], arguments].concat());
    let said = common::errors(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    said
}
