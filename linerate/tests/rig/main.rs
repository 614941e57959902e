//! Rigs: hosts that are network namespaces, as programs on them and beside them see them.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

#[path = "../common/as_nobody.rs"]
mod as_nobody;
mod bench;
#[expect(dead_code, reason = "a test uses what it needs of it")]
#[path = "../common/mod.rs"]
mod common;
#[expect(dead_code, reason = "a test uses what it needs of it")]
#[path = "../machine/confined.rs"]
mod confined;
mod forbidden;
mod lab;
mod leaves_nothing;
mod refused;
#[path = "../common/schema.rs"]
mod schema;
mod snapshot;
mod standing;
mod whose;
