//! What is told of a machine at rest: `cargo xtask test` runs these after all others, one at a time.

mod bench;
mod credit;
mod explain;
mod hogs;
mod likeness;
mod load_honesty;
mod load_slo;
mod load_sweep;
mod packets;
mod versus;
