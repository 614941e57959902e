//! The floor: what the kernel alone costs, measured by a bare echo over the same sockets and bytes.

pub mod echo;
pub mod protocol;
