//! The floor: what the kernel alone costs, measured by a bare echo and by a bare client over the same
//! sockets and bytes.

pub mod ask;
pub mod echo;
pub mod protocol;
