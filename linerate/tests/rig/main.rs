//! Rigs: hosts that are network namespaces, as programs on them and beside them see them.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

mod lab;
