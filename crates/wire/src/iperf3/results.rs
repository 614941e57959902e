//! What an end reports of a test that is over.

use serde::{Deserialize, Serialize};

use super::parameters::whole;
use super::{BadMessage, MOST_SECONDS, RECEIVING_PARAMETERS, is_name};

/// Whole numbers up to here are exact in an `f64`.
const MOST_COUNT: f64 = 9_007_199_254_740_992.0;
/// Most CPU time that is believed, %: that of a process on ten thousand CPUs.
const MOST_PERCENT: f64 = 1e6;

/// The results of a test at one end, as it sends them to the other; `Own` is what an end of ours
/// reports beside them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results<Own> {
    /// CPU time of its process as a share of the time that passed, %.
    pub cpu_util_total: f64,
    pub cpu_util_user: f64,
    pub cpu_util_system: f64,
    /// 1 if the end knows how often it sent again, 0 if not, −1 for an end that only receives.
    pub sender_has_retransmits: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    pub streams: Vec<StreamResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linerate: Option<Own>,
}

/// The result of one stream, at the end that reports it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResult {
    #[serde(deserialize_with = "whole")]
    pub id: u64,
    /// Bytes sent or received, by what the end does.
    #[serde(deserialize_with = "whole")]
    pub bytes: u64,
    /// Segments sent again; −1 if that is not known, which iperf3 writes as 18446744073709551615.
    pub retransmits: f64,
    /// Jitter by RFC 1889, s.
    pub jitter: f64,
    /// Datagrams that did not arrive; older iperf3 goes below 0 if some came late.
    pub errors: f64,
    /// Number of datagrams.
    #[serde(deserialize_with = "whole")]
    pub packets: u64,
    #[serde(default)]
    pub start_time: f64,
    #[serde(default)]
    pub end_time: f64,
}

impl StreamResult {
    /// Segments sent again; `None` if that is not known.
    pub fn sent_again(&self) -> Option<u64> {
        count(self.retransmits)
    }

    /// Datagrams that did not arrive.
    pub fn lost(&self) -> u64 {
        count(self.errors).unwrap_or(0)
    }

    /// How long the stream ran, s; `None` from an end that does not report it.
    pub fn seconds(&self) -> Option<f64> {
        let seconds = self.end_time - self.start_time;
        (seconds > 0.0).then_some(seconds)
    }

    fn fault(&self) -> Option<&'static str> {
        let longest = f64::from(MOST_SECONDS) * 2.0;
        let is_time = |seconds: f64| (0.0..=longest).contains(&seconds);
        match () {
            () if !is_time(self.jitter) => Some("an impossible jitter"),
            () if !(-MOST_COUNT..=MOST_COUNT).contains(&self.errors) => {
                Some("an impossible count of lost datagrams")
            }
            () if !is_time(self.start_time) || !is_time(self.end_time) => {
                Some("an impossible time")
            }
            () => None,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "it lies between 0 and 2^53"
)]
fn count(number: f64) -> Option<u64> {
    (0.0..=MOST_COUNT)
        .contains(&number)
        .then_some(number as u64)
}

impl<'de, Own: Deserialize<'de>> Results<Own> {
    /// Reads results from JSON and checks that they are those of the known streams, each once.
    ///
    /// # Errors
    /// JSON of another kind, results of other streams, or impossible numbers.
    pub fn read(json: &'de [u8], ids: &[u32]) -> Result<Self, BadMessage> {
        let read: Self = serde_json::from_slice(json)?;
        let code = RECEIVING_PARAMETERS;
        match read.fault(ids) {
            Some(what) => Err(BadMessage::Unfit { what, code }),
            None => Ok(read),
        }
    }
}

impl<Own> Results<Own> {
    fn fault(&self, ids: &[u32]) -> Option<&'static str> {
        let is_known = |told: &StreamResult| ids.iter().any(|id| u64::from(*id) == told.id);
        let times = |id: &u32| {
            let of = |told: &&StreamResult| told.id == u64::from(*id);
            self.streams.iter().filter(of).count()
        };
        let shares = [
            self.cpu_util_total,
            self.cpu_util_user,
            self.cpu_util_system,
        ];
        let name = self.congestion_used.as_deref();
        match () {
            () if self.streams.len() > ids.len() || !self.streams.iter().all(is_known) => {
                Some("it reports streams that do not exist")
            }
            () if !ids.iter().all(|id| times(id) == 1) => {
                Some("it does not tell of each stream once")
            }
            () if !shares.iter().all(|one| (0.0..=MOST_PERCENT).contains(one)) => {
                Some("an impossible share of CPU time")
            }
            () if name.is_some_and(|name| !is_name(name)) => {
                Some("no name of a congestion control")
            }
            () => self.streams.iter().find_map(StreamResult::fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf3::Parameters;
    use serde::de::IgnoredAny;

    /// Of `iperf3 -s` 3.12, as it says it of two streams both ways.
    const OF_IPERF3: &str = r#"{"cpu_util_total":26.09,"cpu_util_user":1.0,"cpu_util_system":25.09,
        "sender_has_retransmits":18446744073709551615,"congestion_used":"bbr","streams":[
        {"id":1,"bytes":583270400,"retransmits":18446744073709551615,"jitter":0,"errors":0,"packets":0,
         "start_time":0,"end_time":1.041452},
        {"id":3,"bytes":668467200,"retransmits":12,"jitter":0,"errors":0,"packets":0,"start_time":0,
         "end_time":1.041458}]}"#;

    fn changed(from: &str, to: &str) -> Result<Results<IgnoredAny>, BadMessage> {
        assert!(OF_IPERF3.contains(from), "{from}");
        Results::read(OF_IPERF3.replace(from, to).leak().as_bytes(), &[1, 3])
    }

    #[test]
    fn json_that_is_deeper_than_any_message_is_refused() {
        let deep = [&b"{\"tcp\":"[..], &[b'['; 4000]].concat();
        assert!(Parameters::read(&deep).is_err());
        assert!(Results::<IgnoredAny>::read(&deep, &[]).is_err());
    }

    #[test]
    fn a_count_that_iperf3_does_not_know_is_none_and_one_that_it_knows_is_told() {
        let read = changed("bbr", "bbr").unwrap();
        let again = [0, 1].map(|at| read.streams[at].sent_again());
        assert_eq!(again, [None, Some(12)]);
        assert_eq!(read.streams[0].seconds(), Some(1.041_452));
    }

    #[test]
    fn results_of_other_streams_or_in_numbers_that_cannot_be_are_refused() {
        for (from, to) in [
            ("\"id\":3", "\"id\":2"),
            ("\"id\":3", "\"id\":1"),
            ("\"bytes\":583270400", "\"bytes\":-1"),
            ("\"bytes\":583270400", "\"bytes\":1e300"),
            ("26.09", "-26"),
            ("26.09", "1e300"),
            ("\"jitter\":0", "\"jitter\":-1"),
            ("\"jitter\":0", "\"jitter\":1e99"),
            ("\"errors\":0", "\"errors\":1e99"),
            ("1.041452", "1e99"),
            ("1.041452", "-1"),
            ("bbr", "b\\nbr"),
        ] {
            assert!(changed(from, to).is_err(), "{to}");
        }
        assert!(Results::<IgnoredAny>::read(OF_IPERF3.as_bytes(), &[1, 3, 4]).is_err());
    }
}
