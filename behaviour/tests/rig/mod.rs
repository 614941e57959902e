//! Rigs: hosts that are network namespaces, as programs on them and outside them see them.

mod bench;
mod forbidden;
mod lab;
mod leaves_nothing;
mod refused;
pub(crate) mod snapshot;
mod standing;
mod whose;
