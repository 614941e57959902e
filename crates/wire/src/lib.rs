//! Bytes to values and back: HTTP/1 as a server and a client read it, and the messages of iperf3.
//! No I/O and no clock.

pub mod entity_tag;
pub mod iperf3;
pub mod path;
pub mod range;
pub mod request;
pub mod response;
pub mod response_head;
pub mod status;
pub mod url;
