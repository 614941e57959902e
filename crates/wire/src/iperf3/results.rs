//! What an end tells of a test that is over.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parameters::whole;
use super::{BadMessage, LONGEST_NAME, RECEIVING_PARAMETERS};

/// What came of a test at one end, as it says it to the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// CPU time of its process as a share of the time that passed, %.
    pub cpu_util_total: f64,
    pub cpu_util_user: f64,
    pub cpu_util_system: f64,
    /// 1 where it knows how often it sent again, 0 where not, −1 of an end that only receives.
    pub sender_has_retransmits: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    pub streams: Vec<StreamResult>,
    /// What an end of ours tells beside it, which is read by whoever knows its shape.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub linerate: Value,
}

/// Of one stream, at the end that says it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResult {
    #[serde(deserialize_with = "whole")]
    pub id: u64,
    /// Sent or received, by what the end does.
    #[serde(deserialize_with = "whole")]
    pub bytes: u64,
    /// Segments sent again; −1 where that is not known.
    pub retransmits: f64,
    /// By RFC 1889, s.
    pub jitter: f64,
    /// Datagrams that did not come.
    pub errors: f64,
    /// Datagrams.
    #[serde(deserialize_with = "whole")]
    pub packets: u64,
    #[serde(default)]
    pub start_time: f64,
    #[serde(default)]
    pub end_time: f64,
}

impl Results {
    /// Reads them from JSON and sees that they are of the streams that there are.
    ///
    /// # Errors
    /// What is no JSON of that kind, or tells of a stream that is not there.
    pub fn read(json: &[u8], ids: &[u32]) -> Result<Self, BadMessage> {
        let read: Self = serde_json::from_slice(json)?;
        let is_known = |stream: &StreamResult| ids.iter().any(|id| u64::from(*id) == stream.id);
        let what = match () {
            () if read.streams.len() > ids.len() || !read.streams.iter().all(is_known) => {
                "it tells of streams that there are not"
            }
            () if read
                .congestion_used
                .as_ref()
                .is_some_and(|name| name.len() > LONGEST_NAME) =>
            {
                "a name that is longer than any"
            }
            () => return Ok(read),
        };
        let code = RECEIVING_PARAMETERS;
        Err(BadMessage::Unfit { what, code })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf3::Parameters;

    #[test]
    fn json_that_is_deeper_than_any_message_is_refused() {
        let deep = [&b"{\"tcp\":"[..], &[b'['; 4000]].concat();
        assert!(Parameters::read(&deep).is_err());
        assert!(Results::read(&deep, &[]).is_err());
    }

    #[test]
    fn results_of_streams_that_are_not_there_are_refused() {
        let told = |id: u64| {
            let streams = vec![StreamResult {
                id,
                bytes: 9,
                ..StreamResult::default()
            }];
            serde_json::to_vec(&Results {
                streams,
                ..Results::default()
            })
            .unwrap()
        };
        assert_eq!(
            Results::read(&told(3), &[1, 3]).unwrap().streams[0].bytes,
            9
        );
        assert!(Results::read(&told(2), &[1, 3]).is_err());
    }
}
