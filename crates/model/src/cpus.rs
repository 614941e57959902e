//! Which CPUs each end of a measurement uses, and how many workers a target has.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::doubt::Doubt;

/// Which CPUs the user wants for the two ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuWish {
    /// CPUs of the server, as a list such as `0-3,8`; null lets us choose.
    pub server: Option<String>,
    /// CPUs of the client, in the same form.
    pub client: Option<String>,
    /// Which ends run on the host that is asked.
    #[serde(default)]
    pub side: Side,
}

/// Which ends of a measurement are on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    #[default]
    Both,
    Server,
    Client,
}

/// How the CPUs of a host are shared between the two ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuShare {
    /// CPUs that the server may use, as a list; it gets one per worker.
    pub server: String,
    /// CPUs of the client, as a list.
    pub client: String,
    /// CPUs of other memory nodes, which neither end uses; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub left_out: String,
    /// CPUs that the server may use, count.
    pub server_cpus: u32,
    /// CPUs of the client, count.
    pub client_cpus: u32,
    /// CPUs that both ends use, count; 0 if they are on two machines.
    #[serde(default, skip_serializing_if = "crate::reading::is_nought")]
    pub shared_cpus: u32,
}

impl CpuShare {
    /// The wish that leads to this same share.
    pub fn again(&self) -> CpuWish {
        CpuWish {
            server: Some(self.server.clone()),
            client: Some(self.client.clone()),
            side: Side::Both,
        }
    }

    /// The doubt to report if both ends have CPUs in common.
    pub fn doubt(&self) -> Option<Doubt> {
        let cpus = self.shared_cpus;
        (cpus > 0).then_some(Doubt::SharedCpus { cpus })
    }
}

/// Describes the share in one line.
impl fmt::Display for CpuShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "server on CPU {}, client on CPU {}",
            self.server, self.client
        )?;
        if self.left_out.is_empty() {
            return Ok(());
        }
        write!(
            f,
            "; CPU {} of other memory nodes left out: --server-cpus and --client-cpus can include them",
            self.left_out
        )
    }
}

/// How many workers a target has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Workers {
    /// This number of workers, each on a CPU of its own as far as there are enough.
    Count(u32),
    /// Several numbers, all measured in one run and compared with the first.
    Each(Vec<u32>),
    /// A number that depends on the CPUs of the machine.
    Named(NamedWorkers),
}

/// Numbers of workers that follow from the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NamedWorkers {
    /// One for each CPU of the server.
    All,
    /// All numbers up to 8, then two per doubling, and the number of CPUs, in one run.
    Scale,
}

/// The most workers of a target.
pub const MOST_WORKERS: u32 = 1024;

impl Default for Workers {
    fn default() -> Self {
        Self::Count(1)
    }
}

impl Workers {
    /// The numbers of workers to measure if the server may use `server_cpus` CPUs; each is at least
    /// 1.
    pub fn counts(&self, server_cpus: u32) -> Vec<u32> {
        let most = server_cpus.clamp(1, MOST_WORKERS);
        match self {
            Self::Count(count) => vec![*count],
            Self::Each(counts) => counts.clone(),
            Self::Named(NamedWorkers::All) => vec![most],
            Self::Named(NamedWorkers::Scale) => scale(most),
        }
    }

    /// Whether several numbers are compared in one run.
    pub fn are_compared(&self) -> bool {
        matches!(self, Self::Each(_) | Self::Named(NamedWorkers::Scale))
    }

    /// Whether this is the default: one worker.
    pub fn is_one(&self) -> bool {
        *self == Self::default()
    }
}

/// All numbers up to 8, then two for each doubling, and `most` last.
fn scale(most: u32) -> Vec<u32> {
    let doubling = (3..).map(|power| 1_u32 << power);
    let beyond = doubling.flat_map(|count| [count, count + count / 2]);
    let counts = (1..8).chain(beyond).take_while(|count| *count < most);
    counts.chain([most]).collect()
}

/// Parses what a user types: `4`, `1,2,4` or `all`.
impl FromStr for Workers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::Named(NamedWorkers::All));
        }
        let number = |word: &str| {
            let number = word.trim().parse().ok();
            number.filter(|count| (1..=MOST_WORKERS).contains(count))
        };
        let counts: Option<Vec<u32>> = text.split(',').map(number).collect();
        match counts.as_deref() {
            Some([count]) => Ok(Self::Count(*count)),
            Some(counts) if counts.is_sorted_by(|one, next| one < next) => {
                Ok(Self::Each(counts.to_vec()))
            }
            _ => Err(format!(
                "`{text}` is neither a number of workers from 1 to {MOST_WORKERS}, nor rising numbers such as 1,2,4, nor `all`"
            )),
        }
    }
}

impl fmt::Display for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Each(counts) => {
                let words: Vec<String> = counts.iter().map(u32::to_string).collect();
                f.write_str(&words.join(","))
            }
            Self::Named(NamedWorkers::All) => f.write_str("all"),
            Self::Named(NamedWorkers::Scale) => f.write_str("scale"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_typed_as_a_number_as_rising_numbers_or_as_all() {
        let counts = |text: &str| text.parse::<Workers>().map(|workers| workers.counts(6));
        assert_eq!(counts("3"), Ok(vec![3]));
        assert_eq!(counts("1,2,4"), Ok(vec![1, 2, 4]));
        assert_eq!(counts("all"), Ok(vec![6]));
        for wrong in ["", "0", "2,1", "1,1", "many", "1,2000"] {
            assert!(
                wrong.parse::<Workers>().unwrap_err().contains("as 1,2,4"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_scale_ends_with_all_cpus_and_has_six_numbers_from_six_cpus_on() {
        let scale = |cpus| Workers::Named(NamedWorkers::Scale).counts(cpus);
        assert_eq!(scale(0), [1]);
        assert_eq!(scale(2), [1, 2]);
        assert_eq!(scale(6), [1, 2, 3, 4, 5, 6]);
        assert_eq!(scale(20), [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20]);
        assert_eq!(scale(128).last(), Some(&128));
        assert_eq!(scale(u32::MAX).last(), Some(&MOST_WORKERS));
    }

    #[test]
    fn a_study_file_has_them_as_a_number_a_list_or_a_word() {
        let read = |text: &str| serde_json::from_str::<Workers>(text).unwrap();
        assert_eq!(read("2"), Workers::Count(2));
        assert_eq!(read("[1,2]"), Workers::Each(vec![1, 2]));
        assert_eq!(read("\"all\""), Workers::Named(NamedWorkers::All));
    }
}
