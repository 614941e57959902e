//! Tests that need a machine at rest: `cargo xtask test` runs these after all others, one at a
//! time.

mod bench;
mod explain;
mod hogs;
mod likeness;
mod versus;
