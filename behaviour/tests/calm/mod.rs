//! Tests that use little of the machine and tolerate little other work on it: `cargo xtask test`
//! runs a few of these at once, after all others.

mod credit;
mod explain;
mod load_honesty;
mod load_http2;
mod load_slo;
mod load_sweep;
mod packets;
mod side_by_side;
