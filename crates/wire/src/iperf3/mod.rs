//! The control messages of iperf3: a cookie, states of one byte, and JSON behind its length. What is not
//! known is passed over, as iperf3 does, and numbers may be written in any way that JSON has.
//!
//! Our own words, for an end of ours, stand in JSON under `linerate`, which iperf3 passes over.

mod datagram;
mod parameters;
mod results;

use serde::Serialize;

pub use datagram::DatagramHead;
pub use parameters::{OwnWish, Parameters};
pub use results::{Results, StreamResult};

/// A name for a test that both ends know, of letters and digits, and a zero.
pub type Cookie = [u8; COOKIE_BYTES];
/// `COOKIE_SIZE`.
pub const COOKIE_BYTES: usize = 37;
/// iperf3 takes no longer ones of parameters (`MAX_PARAMS_JSON_STRING`).
pub const MOST_PARAMETER_BYTES: u32 = 8 * 1024;
/// Those of a server's results have each stream, and may have what it printed or, of ours, its intervals.
pub const MOST_RESULT_BYTES: u32 = 4 << 20;
/// Those of a client's have each stream and nothing else.
pub const MOST_CLIENT_RESULT_BYTES: u32 = 128 * 1024;
/// `MAX_STREAMS`, each way.
pub const MOST_STREAMS: u32 = 128;
/// `MAX_BLOCKSIZE`.
pub const MOST_BLOCK_BYTES: u32 = 1 << 20;
/// `MIN_UDP_BLOCKSIZE` and `MAX_UDP_BLOCKSIZE`.
pub const DATAGRAM_BYTES: std::ops::RangeInclusive<u32> = 16..=65_507;
/// `MAX_MSS`.
pub const MOST_SEGMENT_BYTES: u32 = 32 * 1024 - 1;
/// `MAX_TCP_BUFFER`.
pub const MOST_BUFFER_BYTES: u32 = 512 << 20;
/// `MAX_TIME`.
pub const MOST_SECONDS: u32 = 86_400;
/// With it a client of UDP shows itself, and with the next one a server answers: `UDP_CONNECT_MSG` and
/// `UDP_CONNECT_REPLY` as they lie in memory.
pub const UDP_HELLO: [u8; 4] = *b"9876";
pub const UDP_ANSWER: [u8; 4] = *b"6789";
/// iperf3 before 3.11 says 123456789 and answers 987654321.
pub const OLD_UDP_ANSWER: [u8; 4] = 987_654_321_u32.to_le_bytes();
/// iperf3 before 3.11 says 123456789, as it lies in its memory too.
const OLD_UDP_HELLO: u32 = 123_456_789;
/// Longest name of a congestion control, and of anything else that is kept of the other end.
const LONGEST_NAME: usize = 64;
/// Of what is wrong with JSON so many characters are told: it may repeat what it found.
const LONGEST_FAULT: usize = 120;

/// Whether a datagram is one with which a client of iperf3 shows itself, whichever byte its machine puts first.
pub fn is_udp_hello(datagram: &[u8]) -> bool {
    let hellos = [u32::from_le_bytes(UDP_HELLO), OLD_UDP_HELLO];
    let is_one = |hello: u32| datagram == hello.to_le_bytes() || datagram == hello.to_be_bytes();
    hellos.into_iter().any(is_one)
}

/// Whether a text is a name that stands in a line of its own words: short, and without spaces and control characters.
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
    /// The server is at work for somebody else.
    AccessDenied = -1,
    /// Two numbers follow: which error, by iperf3's list, and errno.
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

    /// `None` for a byte that is no state.
    pub fn read(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.byte() == byte)
    }

    pub const fn byte(self) -> u8 {
        (self as i8).cast_unsigned()
    }
}

/// Why a message was not taken.
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
        /// By iperf3's list of errors.
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

/// A message of JSON with its length before it.
pub fn framed(message: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(message).unwrap_or_default();
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &json].concat()
}

/// The length of the JSON that follows, if it is one that is taken.
///
/// # Errors
/// More than `most` bytes, or none.
pub fn length(head: [u8; 4], most: u32) -> Result<usize, BadMessage> {
    let bytes = u32::from_be_bytes(head);
    match (1..=most).contains(&bytes) {
        true => Ok(bytes as usize),
        false => Err(BadMessage::Length { bytes, most }),
    }
}

/// The number that iperf3 gives the stream at a place in the order in which they are opened: 1, 3, 4, 5 …
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
