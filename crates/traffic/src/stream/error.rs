//! Why a test of streams failed.

use std::io;
use std::net::SocketAddr;

use sys::address::Address;
use wire::iperf3::{BadMessage, State};

/// Why a test of streams failed: what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    #[error(
        "nothing accepts streams at {address}: {source}; start `linerate stream --listen` or `iperf3 -s` there"
    )]
    Connect { address: Address, source: io::Error },
    #[error("the server is busy with another client; try again later, or start a second one")]
    Busy,
    #[error(
        "the server refused what was asked for, with error {code} of iperf3's list ({words}); ask \
         for something else"
    )]
    Refused { code: u32, words: &'static str },
    #[error(
        "the line to the other end broke while {during}: {source}; see what the other end says"
    )]
    Line {
        during: &'static str,
        source: io::Error,
    },
    #[error("the other end has closed the line while {during}; see what it says")]
    Closed { during: &'static str },
    #[error(
        "the other end said nothing for {seconds} s while {during}; is it iperf3 3.1 or later, or \
         `linerate stream --listen`?"
    )]
    Silent { during: &'static str, seconds: u64 },
    #[error(
        "the other end said {state:?} while {during}, which iperf3's protocol does not allow there"
    )]
    OutOfTurn { state: State, during: &'static str },
    #[error(
        "the other end said the byte {byte} while {during}, which is no word of iperf3's protocol"
    )]
    NoState { byte: u8, during: &'static str },
    #[error("what the other end said while {during} is not accepted: {source}")]
    Message {
        during: &'static str,
        source: BadMessage,
    },
    #[error("the other end has ended the test")]
    Ended,
    #[error("the test was stopped here")]
    Stopped,
    #[error("{option}: {source}")]
    Option { option: String, source: io::Error },
    #[error("stream {number} could not be opened: {source}")]
    Open { number: u32, source: io::Error },
    #[error(
        "only {came} of {wanted} streams were opened by the client within {seconds} s; does a firewall \
         let its connections in?"
    )]
    TooFew {
        came: usize,
        wanted: usize,
        seconds: u64,
    },
    #[error(
        "no answer came to the first datagram within {seconds} s; does a firewall drop UDP to {address}?"
    )]
    NoAnswer { address: SocketAddr, seconds: u64 },
    #[error(
        "nothing more went through for {seconds} s; does the other end still receive what it is sent?"
    )]
    Stuck { seconds: u64 },
    #[error("stream {number} broke: {source}; see whether the other end still runs")]
    Stream { number: u32, source: io::Error },
    #[error("a socket among the files carries no datagrams; give an address and a port")]
    NoDatagrams,
    #[error("a thread for a stream: {0}; ask for fewer streams")]
    Thread(io::Error),
}

/// iperf3's words for the errors that its servers and ours report most.
pub(super) fn words(code: u32) -> &'static str {
    match code {
        5 => "the test is too long",
        6 => "too many streams",
        7 => "the size of a write",
        8 => "the size of the buffers",
        10 => "the size of a segment",
        20 => "the size of a datagram",
        21 => "the type of service",
        27 => "more than the server's limit of bandwidth",
        37 => "longer than the server allows",
        114 => "the parameters were not understood",
        131 => "the protocol",
        134 => "the congestion control",
        142 => "the server wants a user's name and password",
        _ => "see iperf_api.h",
    }
}
