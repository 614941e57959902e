//! The server's side of a connection without a protocol: accepts, receives, sends, times out.
//!
//! One loop serves every protocol: it knows a [`Service`], which turns bytes received into bytes
//! to send. A worker is one single-threaded process with one epoll instance, one listener and
//! its own CPU: an idle second thread alone makes every system call on a socket count references
//! to the process's table of open files, which costs more than anything that sharing memory
//! would gain here.
//!
//! In steady state a request costs one `recv` and one `send`, and a share of an `epoll_pwait2`:
//! connections are registered once and edge-triggered; a read that is expected to find nothing
//! is never made; time is the number of seconds that one timer has counted. What one wait has
//! found is read first and answered then, connection by connection.

mod accepting;
mod connection;
pub mod listeners;
mod service;
pub mod supervisor;
mod worker;

pub use service::{Next, Service, Step};
pub use worker::{Settings, run};
