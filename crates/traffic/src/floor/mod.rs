//! The floor: the cost of the kernel alone, measured by a bare echo server and by a bare client
//! over the same sockets and bytes.

pub mod ask;
pub mod echo;
pub mod protocol;
