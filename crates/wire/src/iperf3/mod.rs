//! The control messages of iperf3: a cookie, states of one byte, and JSON behind its length.
//! Unknown fields are ignored, as in iperf3, and numbers may be written in any form that JSON has.
//!
//! What only our own ends know stands in JSON under `linerate`, which iperf3 ignores.

mod datagram;
mod parameters;
mod results;

use serde::Serialize;

pub use datagram::DatagramHead;
pub use parameters::{OwnWish, Parameters};
pub use results::{Results, StreamResult};

/// A name for a test that both ends know: letters and digits, and a zero byte.
pub type Cookie = [u8; COOKIE_BYTES];
/// Length of a cookie with its zero byte (`COOKIE_SIZE`).
pub const COOKIE_BYTES: usize = 37;
/// Longest JSON of parameters that iperf3 accepts, bytes (`MAX_PARAMS_JSON_STRING`).
pub const MOST_PARAMETER_BYTES: u32 = 8 * 1024;
/// Longest JSON of a server's results, bytes. They have each stream, and may have what the server
/// printed or, from a server of ours, its intervals.
pub const MOST_RESULT_BYTES: u32 = 4 << 20;
/// Longest JSON of a client's results, bytes. They have each stream and nothing else.
pub const MOST_CLIENT_RESULT_BYTES: u32 = 128 * 1024;
/// Most streams each way (`MAX_STREAMS`).
pub const MOST_STREAMS: u32 = 128;
/// Most bytes of a write (`MAX_BLOCKSIZE`).
pub const MOST_BLOCK_BYTES: u32 = 1 << 20;
/// Bytes of a datagram (`MIN_UDP_BLOCKSIZE` and `MAX_UDP_BLOCKSIZE`).
pub const DATAGRAM_BYTES: std::ops::RangeInclusive<u32> = 16..=65_507;
/// Most bytes of a segment (`MAX_MSS`).
pub const MOST_SEGMENT_BYTES: u32 = 32 * 1024 - 1;
/// Most bytes of a socket's buffer (`MAX_TCP_BUFFER`).
pub const MOST_BUFFER_BYTES: u32 = 512 << 20;
/// Longest time of a test, s (`MAX_TIME`).
pub const MOST_SECONDS: u32 = 86_400;
/// The datagram with which a client of UDP makes itself known; the next one is the server's answer.
/// They are `UDP_CONNECT_MSG` and `UDP_CONNECT_REPLY` as they lie in memory.
pub const UDP_HELLO: [u8; 4] = *b"9876";
pub const UDP_ANSWER: [u8; 4] = *b"6789";
/// The answer of iperf3 before 3.11, which is 987654321 as it lies in memory.
pub const OLD_UDP_ANSWER: [u8; 4] = 987_654_321_u32.to_le_bytes();
/// The first datagram of a client of iperf3 before 3.11, as a number.
const OLD_UDP_HELLO: u32 = 123_456_789;
/// Longest name of a congestion control, and of any other text of the other end that is stored.
const LONGEST_NAME: usize = 64;
/// Most characters of a fault in JSON that are reported: it may repeat what it found.
const LONGEST_FAULT: usize = 120;

/// Whether a datagram is one with which a client of iperf3 makes itself known, in either byte
/// order.
pub fn is_udp_hello(datagram: &[u8]) -> bool {
    let hellos = [u32::from_le_bytes(UDP_HELLO), OLD_UDP_HELLO];
    let is_one = |hello: u32| datagram == hello.to_le_bytes() || datagram == hello.to_be_bytes();
    hellos.into_iter().any(is_one)
}

/// Whether a text can stand as a name within a line: short, and without spaces and control
/// characters.
pub fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// What one end tells the other to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum State {
    TestStart = 1,
    TestRunning = 2,
    TestEnd = 4,
    ParameterExchange = 9,
    CreateStreams = 10,
    ServerTerminate = 11,
    ClientTerminate = 12,
    ExchangeResults = 13,
    DisplayResults = 14,
    IperfStart = 15,
    IperfDone = 16,
    /// The server is busy with another client.
    AccessDenied = -1,
    /// Two numbers follow: the error in iperf3's list, and errno.
    ServerError = -2,
}

impl State {
    const ALL: [Self; 13] = [
        Self::TestStart,
        Self::TestRunning,
        Self::TestEnd,
        Self::ParameterExchange,
        Self::CreateStreams,
        Self::ServerTerminate,
        Self::ClientTerminate,
        Self::ExchangeResults,
        Self::DisplayResults,
        Self::IperfStart,
        Self::IperfDone,
        Self::AccessDenied,
        Self::ServerError,
    ];

    /// Reads a state; `None` for a byte that is no state.
    pub fn read(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.byte() == byte)
    }

    pub const fn byte(self) -> u8 {
        (self as i8).cast_unsigned()
    }
}

/// Why a message was refused.
#[derive(Debug, thiserror::Error)]
pub enum BadMessage {
    #[error("a message of {bytes} bytes, where none has more than {most}")]
    Length { bytes: u32, most: u32 },
    #[error("no JSON of the kind that is due: {0}")]
    Json(String),
    #[error("`{name}` is {value}, and at most {most} can be")]
    TooMuch {
        name: &'static str,
        value: u64,
        most: u64,
        /// The error in iperf3's list.
        code: u32,
    },
    #[error("{what}")]
    Unfit { what: &'static str, code: u32 },
}

impl From<serde_json::Error> for BadMessage {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error.to_string().chars().take(LONGEST_FAULT).collect())
    }
}

impl BadMessage {
    /// The number of this error in iperf3's list, which its client puts into words.
    pub fn code(&self) -> u32 {
        match self {
            Self::TooMuch { code, .. } | Self::Unfit { code, .. } => *code,
            Self::Length { .. } | Self::Json(_) => RECEIVING_PARAMETERS,
        }
    }
}

/// `IERECVPARAMS` of iperf_api.h.
const RECEIVING_PARAMETERS: u32 = 114;

/// The JSON of a message with its length before it.
pub fn framed(message: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(message).unwrap_or_default();
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &json].concat()
}

/// Reads the length of the JSON that follows, if it is acceptable.
///
/// # Errors
/// A length of more than `most` bytes, or of 0.
pub fn length(head: [u8; 4], most: u32) -> Result<usize, BadMessage> {
    let bytes = u32::from_be_bytes(head);
    match (1..=most).contains(&bytes) {
        true => Ok(bytes as usize),
        false => Err(BadMessage::Length { bytes, most }),
    }
}

/// The number that iperf3 gives a stream by its place in the order of opening: 1, 3, 4, 5 …
pub fn stream_id(place: usize) -> u32 {
    let place = u32::try_from(place).unwrap_or(u32::MAX - 2);
    if place == 0 { 1 } else { place + 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_json_is_told_in_few_words_however_much_of_it_there_is() {
        let json = format!("{{\"tcp\":\"{}\"}}", "A".repeat(6000));
        let fault = Parameters::read(json.as_bytes()).unwrap_err().to_string();
        assert!(fault.len() < 200 && fault.contains("AAA"), "{fault}");
    }

    #[test]
    fn a_hello_is_four_bytes_that_iperf3_says_and_none_else() {
        for hello in [UDP_HELLO, *b"6789", 123_456_789_u32.to_le_bytes()] {
            assert!(is_udp_hello(&hello));
        }
        for other in [&b"9876 "[..], b"987", b"", &[0; 4], &UDP_HELLO.repeat(2)] {
            assert!(!is_udp_hello(other), "{other:?}");
        }
    }

    #[test]
    fn a_state_is_one_byte_and_no_other_byte_is_one() {
        assert_eq!(State::read(255), Some(State::AccessDenied));
        assert_eq!(State::read(254), Some(State::ServerError));
        assert_eq!((0..=255).filter_map(State::read).count(), State::ALL.len());
    }
}
