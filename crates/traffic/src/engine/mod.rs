//! The server's side of a connection without a protocol: accepts, receives, sends, times out.
//!
//! One loop serves every protocol: it knows a [`Service`], which turns bytes received into bytes
//! to send. A worker is one single-threaded process with one epoll instance, one listener and
//! its own CPU. It is no thread, because a second one, even idle, makes every system call on a
//! socket count references to the shared table of open files: 1.7 % of the CPU per request (99 %
//! interval 0.5 to 2.7 %, 40 interleaved pairs on Linux 6.18; its control, 0.0 ± 0.9 %).
//!
//! In steady state a request costs one `recv` and one `send`, and a share of an `epoll_pwait2`:
//! connections are registered once and edge-triggered; a read that is expected to find nothing
//! is never made; time is the number of seconds that one timer has counted. What one wait has
//! found is read first and answered then, connection by connection.

mod accepting;
pub mod channel;
mod connection;
pub mod listeners;
mod output;
mod service;
pub mod supervisor;
mod worker;

pub use output::{FilePart, Output};
pub use service::{Next, Service, Step};
pub use worker::{Settings, run, run_over};
