//! TLS over a connection: rustls, driven by hand over our own buffers.

mod client;
mod config;
mod end;
mod failure;
mod identity;
mod records;
mod session;
mod tickets;
mod unchecked;

pub use client::{
    Agreed, Buffers, Client, ClientEnd, ClientError, ClientOptions, Content, Handshake, Trust,
    Version,
};
pub use config::{Config, ConfigError, Options, cipher_names};
pub use failure::{CertificateProblem, TlsFailure};
pub use identity::{Identity, IdentityError, chain, key};
pub use session::{Common, Secured};
