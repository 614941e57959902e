//! TLS over a connection: rustls, driven by hand over our own buffers.

mod config;
mod end;
mod identity;
mod records;
mod session;
mod tickets;

pub use config::{Config, ConfigError, Options, cipher_names};
pub use identity::{Identity, IdentityError, chain, key};
pub use session::{Common, Secured};
