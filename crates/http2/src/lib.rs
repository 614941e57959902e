//! A client's side of HTTP/2 as bytes in and bytes out: no I/O, no clock, no runtime.
//!
//! `h2` knows the protocol. The caller polls its futures when it has bytes for them or wants some
//! from them: [`Connection`] holds one connection, [`Stream`] one request and its answer, and
//! [`Woken`] the numbers of the streams that have news.

mod connection;
mod failure;
mod pipe;
mod request;
mod stream;
mod woken;

pub use connection::Connection;
pub use failure::Failure;
pub use request::{Request, RequestError};
pub use stream::{Part, Stream};
pub use woken::Woken;
