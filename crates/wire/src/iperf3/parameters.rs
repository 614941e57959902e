//! What a client asks a server for.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    BadMessage, DATAGRAM_BYTES, LONGEST_NAME, MOST_BLOCK_BYTES, MOST_BUFFER_BYTES, MOST_SECONDS,
    MOST_SEGMENT_BYTES, MOST_STREAMS, RECEIVING_PARAMETERS, is_name,
};

/// Errors of iperf3's list: `IENUMSTREAMS`, `IEBLOCKSIZE` and the others of iperf_api.h.
const STREAMS: u32 = 6;
const BLOCK_SIZE: u32 = 7;
const BUFFER_SIZE: u32 = 8;
const SEGMENT_SIZE: u32 = 10;
const OMITTED: u32 = 12;
const DURATION: u32 = 5;
const TYPE_OF_SERVICE: u32 = 21;
const DATAGRAM_SIZE: u32 = 20;
const BOTH_WAYS: u32 = 24;
const PROTOCOL: u32 = 131;
const CONGESTION: u32 = 134;

/// What a client asks for, in the fields of iperf3.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tcp: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub udp: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sctp: bool,
    /// Seconds at the beginning that do not count.
    #[serde(deserialize_with = "whole")]
    pub omit: u64,
    /// Length of the test, s; 0 if it ends after bytes or blocks.
    #[serde(deserialize_with = "whole")]
    pub time: u64,
    /// Bytes of all streams together after which it ends; 0 if something else ends it.
    #[serde(deserialize_with = "whole")]
    pub num: u64,
    /// Writes or datagrams of all streams together after which it ends; 0 if something else ends
    /// it.
    #[serde(deserialize_with = "whole")]
    pub blockcount: u64,
    /// Number of streams each way.
    #[serde(deserialize_with = "whole")]
    pub parallel: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reverse: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bidirectional: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nodelay: bool,
    #[serde(rename = "MSS", skip_serializing_if = "is_nothing")]
    #[serde(deserialize_with = "whole")]
    pub mss: u64,
    /// Size of the sockets' buffers, bytes.
    #[serde(deserialize_with = "whole", skip_serializing_if = "is_nothing")]
    pub window: u64,
    /// Size of each write, or of each datagram, bytes.
    #[serde(deserialize_with = "whole", skip_serializing_if = "is_nothing")]
    pub len: u64,
    /// Rate of each stream, bit/s; 0 for as fast as possible.
    #[serde(deserialize_with = "whole", skip_serializing_if = "is_nothing")]
    pub bandwidth: u64,
    /// Rate of each stream, held by the kernel, bit/s; 0 for as fast as possible.
    #[serde(deserialize_with = "whole", skip_serializing_if = "is_nothing")]
    pub fqrate: u64,
    #[serde(rename = "TOS", skip_serializing_if = "is_nothing")]
    #[serde(deserialize_with = "whole")]
    pub tos: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    #[serde(deserialize_with = "whole", skip_serializing_if = "is_nothing")]
    pub udp_counters_64bit: u64,
    /// Not 0 to send with sendfile(2).
    #[serde(deserialize_with = "whole", skip_serializing_if = "is_nothing")]
    pub zerocopy: u64,
    pub client_version: String,
    /// What a client of ours asks for beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linerate: Option<OwnWish>,
}

/// What a client of ours asks a server of ours for; iperf3 does not know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnWish {
    /// One more UDP socket is opened first; the server sends its datagrams back as they came.
    pub echo: bool,
    /// The server discards what it receives within the kernel.
    pub discard: bool,
    /// How a server of ours sends, by our name for it.
    pub send: String,
    /// Time between two readings of the server's connections, ms.
    #[serde(deserialize_with = "whole")]
    pub interval_ms: u64,
}

impl Parameters {
    /// Reads parameters from JSON and checks that a server can fulfil them.
    ///
    /// # Errors
    /// JSON of another kind, or a request for more than iperf3 gives.
    pub fn read(json: &[u8]) -> Result<Self, BadMessage> {
        let read: Self = serde_json::from_slice(json)?;
        read.check()?;
        Ok(read)
    }

    /// Bytes of all streams of a way together after which the test ends; `None` if it ends after a
    /// time.
    pub fn wanted_bytes(&self) -> Option<u64> {
        let blocks = self.blockcount.saturating_mul(self.len);
        Some(self.num.max(blocks)).filter(|bytes| *bytes > 0)
    }

    fn check(&self) -> Result<(), BadMessage> {
        let unfit = |what, code| Err(BadMessage::Unfit { what, code });
        if self.sctp || self.tcp == self.udp {
            return unfit("neither TCP nor UDP, which are spoken here", PROTOCOL);
        }
        if self.reverse && self.bidirectional {
            return unfit("one way back and both ways at once", BOTH_WAYS);
        }
        if self.omit > 0 {
            return unfit(
                "`omit`, seconds that do not count, is not known here",
                OMITTED,
            );
        }
        if self.parallel == 0 {
            return unfit("no stream at all", STREAMS);
        }
        if self.len == 0 && self.tcp {
            return unfit("writes of no bytes", BLOCK_SIZE);
        }
        if self.udp && self.len > 0 && self.len < u64::from(*DATAGRAM_BYTES.start()) {
            return unfit("datagrams with no room for their number", DATAGRAM_SIZE);
        }
        let most_len = match self.udp {
            true => *DATAGRAM_BYTES.end(),
            false => MOST_BLOCK_BYTES,
        };
        for (name, value, most, code) in [
            ("parallel", self.parallel, MOST_STREAMS, STREAMS),
            ("len", self.len, most_len, BLOCK_SIZE),
            ("time", self.time, MOST_SECONDS, DURATION),
            ("MSS", self.mss, MOST_SEGMENT_BYTES, SEGMENT_SIZE),
            ("window", self.window, MOST_BUFFER_BYTES, BUFFER_SIZE),
            ("TOS", self.tos, 255, TYPE_OF_SERVICE),
        ] {
            let most = u64::from(most);
            if value > most {
                return Err(BadMessage::TooMuch {
                    name,
                    value,
                    most,
                    code,
                });
            }
        }
        if self
            .congestion
            .as_deref()
            .is_some_and(|name| !is_name(name))
        {
            return unfit("no name of a congestion control", CONGESTION);
        }
        if self.client_version.len() > LONGEST_NAME {
            return unfit("a name that is longer than any", RECEIVING_PARAMETERS);
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_nothing(value: &u64) -> bool {
    *value == 0
}

/// Reads a count that is known exactly, in any form in which cJSON writes numbers, such as `1e+16`.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    const MOST: f64 = 9_007_199_254_740_992.0;
    let number = f64::deserialize(deserializer)?;
    if !(0.0..=MOST).contains(&number) {
        return Err(D::Error::custom(format!("{number} is no count")));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it lies between 0 and 2^53"
    )]
    Ok(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf3::{MOST_PARAMETER_BYTES, framed, length};

    /// Of iperf 3.12, as it says it.
    const OF_IPERF3: &str = r#"{"tcp":true,"omit":0,"time":10,"num":1e+10,"blockcount":0,"parallel":2,
        "reverse":true,"window":262144,"len":131072,"bandwidth":100000000,"pacing_timer":1000,
        "congestion":"cubic","zerocopy":1,"client_version":"3.12"}"#;

    fn changed(from: &str, to: &str) -> Result<Parameters, BadMessage> {
        assert!(OF_IPERF3.contains(from));
        Parameters::read(OF_IPERF3.replace(from, to).as_bytes())
    }

    #[test]
    fn what_iperf3_says_is_understood_and_can_be_said_again() {
        let read = changed("tcp", "tcp").unwrap();
        assert_eq!(
            (read.num, read.parallel, read.zerocopy),
            (10_000_000_000, 2, 1)
        );
        assert!(read.tcp && read.reverse && read.linerate.is_none());
        let message = framed(&read);
        let (head, json) = message.split_first_chunk().unwrap();
        let bytes = length(*head, MOST_PARAMETER_BYTES).unwrap();
        assert_eq!(bytes, json.len());
        assert_eq!(Parameters::read(json).unwrap(), read);
    }

    #[test]
    fn what_asks_for_too_much_is_refused_by_iperf3s_number_for_it() {
        for (from, to, code) in [
            ("\"parallel\":2", "\"parallel\":129", STREAMS),
            ("\"parallel\":2", "\"parallel\":0", STREAMS),
            ("\"parallel\":2", "\"parallel\":-1", RECEIVING_PARAMETERS),
            ("\"parallel\":2", "\"parallel\":1e99", RECEIVING_PARAMETERS),
            ("\"parallel\":2", "\"parallel\":\"2\"", RECEIVING_PARAMETERS),
            ("131072", "1048577", BLOCK_SIZE),
            ("\"time\":10", "\"time\":86401", DURATION),
            ("262144", "536870913", BUFFER_SIZE),
            ("\"omit\":0", "\"omit\":1", OMITTED),
            ("cubic", "cu bic", CONGESTION),
            ("cubic", "cubic\\nroot: all is well", CONGESTION),
            ("\"tcp\"", "\"udp\"", BLOCK_SIZE),
            ("\"tcp\"", "\"sctp\"", PROTOCOL),
            ("\"omit\"", "\"bidirectional\":true,\"omit\"", BOTH_WAYS),
        ] {
            let refused = changed(from, to).unwrap_err();
            assert_eq!(refused.code(), code, "{to}: {refused}");
        }
    }
}
