//! TLS over a connection: rustls, driven by hand over our own buffers; then, where it can, the kernel.

mod ciphers;
mod client;
mod config;
mod end;
mod failure;
mod identity;
mod kernel;
mod records;
mod session;
mod tickets;
mod unchecked;

pub use ciphers::cipher_names;
pub use client::{
    Agreed, Buffers, Client, ClientEnd, ClientError, ClientOptions, Content, Handshake, Trust,
};
pub use config::{Config, ConfigError, Options};
pub use failure::{CertificateProblem, TlsFailure};
pub use identity::{Identity, IdentityError, chain, key};
pub use kernel::{Handover, Offer};
pub use session::{Common, Secured};
