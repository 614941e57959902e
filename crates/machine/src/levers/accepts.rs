//! The values that a lever takes.

use serde::Deserialize;

use super::share::Share;
use super::{Knob, Site, Value};
use crate::tree::Tree;

/// The values that a lever takes.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Accepts {
    Range(i64, i64),
    /// 0, or a power of two up to this share: the kernel makes one of what it is given.
    PowerOfTwo(Share),
    /// From this to a share of the memory.
    UpToShare(i64, Share),
    /// From this to the most that the kernel says it can be.
    UpToMost(i64),
    /// A number of queues up to that, or [`SPREAD`].
    Queues,
    /// A number for each of these, none less than that or than the one before it, the last at most
    /// a share of the memory.
    Sizes(Vec<i64>, Share),
    /// The first and the last of a range of ports.
    Ports,
    Words(Vec<String>),
    /// One of the words in a file of the kernel.
    Offered(String),
    /// CPUs, none, or [`SPREAD`].
    Cpus,
    /// The same, of which each knob must have one.
    SomeCpus,
}

/// Below are the ports of services that root starts (`ip_unprivileged_port_start`).
const FIRST_PORT: i64 = 1024;
const LAST_PORT: i64 = 65_535;
/// One client's connections and the questions of its resolver find a port among so many, each of which is
/// in TIME-WAIT for a minute after use.
const LEAST_PORTS: usize = 4096;
/// The ports of its range that the kernel gives to nobody.
const RESERVED_PORTS: &str = "proc/sys/net/ipv4/ip_local_reserved_ports";

/// Typed for CPUs of its own for each queue, one after the other; with a colon and a list behind it, of those. Of
/// how many queues there are, for one for each CPU at least.
pub(crate) const SPREAD: &str = "spread";
const OR_FOR_EACH_CPU: &str = ", or spread for one for each CPU at least";

impl Accepts {
    pub(super) fn takes(&self, tree: &Tree, knob: &Knob, value: &Value) -> bool {
        match (self, value) {
            (Self::Queues, _) => Self::UpToMost(1).takes(tree, knob, value),
            (Self::UpToMost(least), Value::Number(number)) => {
                number >= least && knob.most(tree).is_none_or(|most| *number <= most)
            }
            (Self::Range(least, most), Value::Number(number)) => (least..=most).contains(&number),
            (Self::PowerOfTwo(share), Value::Number(number)) => {
                *number == 0 || *number > 0 && number.count_ones() == 1 && share.has(*number, tree)
            }
            (Self::UpToShare(least, share), Value::Number(number)) => {
                number >= least && share.has(*number, tree)
            }
            (Self::Sizes(least, share), Value::Numbers(sizes)) => {
                let large = || sizes.iter().zip(least).all(|(size, least)| size >= least);
                let is_had = |largest: &i64| share.has(*largest, tree);
                sizes.len() == least.len()
                    && sizes.is_sorted()
                    && large()
                    && sizes.last().is_some_and(is_had)
            }
            (Self::Ports, Value::Numbers(bounds)) => are_enough(bounds, tree),
            (Self::Words(words), Value::Word(word)) => words.contains(word),
            (Self::Offered(file), Value::Word(word)) => offered(tree, file).contains(word),
            (Self::Cpus, Value::Numbers(_)) => true,
            (Self::SomeCpus, Value::Numbers(cpus)) => !cpus.is_empty(),
            _ => false,
        }
    }

    /// All that can be typed, where that is a few words or yes and no.
    pub(super) fn few(&self, tree: &Tree) -> Vec<String> {
        match self {
            Self::Range(0, 1) => vec!["0".to_owned(), "1".to_owned()],
            Self::Words(words) => words.clone(),
            Self::Offered(file) => offered(tree, file),
            _ => Vec::new(),
        }
    }

    /// The CPUs that are shared out among queues by what is typed; `None` where it is a value as it stands.
    pub(super) fn spread_over(&self, site: &Site, typed: &str) -> Option<Vec<usize>> {
        let spread = match self {
            Self::Cpus | Self::SomeCpus | Self::Queues => typed.strip_prefix(SPREAD)?,
            _ => return None,
        };
        let cpus = match spread.strip_prefix(':') {
            Some(list) => sys::cpu::parse_list(list).ok(),
            None if spread.is_empty() => site.online_cpus().ok(),
            None => None,
        };
        cpus.filter(|cpus| !cpus.is_empty())
    }

    /// The values of one knob, with what the kernel says of it.
    pub(super) fn words_for(&self, site: &Site, knob: &Knob) -> String {
        match (self, knob.most(&site.tree)) {
            (Self::UpToMost(least), Some(most)) => Self::Range(*least, most).words(),
            (Self::Queues, Some(most)) => Self::Range(1, most).words() + OR_FOR_EACH_CPU,
            _ => self.words_at(site),
        }
    }

    /// The values, with those that the kernel offers at a site.
    pub(super) fn words_at(&self, site: &Site) -> String {
        match self {
            Self::Offered(file) => format!("one of {}", offered(&site.tree, file).join(", ")),
            _ => self.words_with(&|share| share.words_at(&site.tree)),
        }
    }

    pub(super) fn words(&self) -> String {
        self.words_with(&|share| share.words())
    }

    fn words_with(&self, share_words: &dyn Fn(&Share) -> String) -> String {
        match self {
            Self::Range(0, 1) => "0 or 1".to_owned(),
            Self::Range(least, most) => format!("a number from {least} to {most}"),
            Self::UpToMost(least) => {
                format!("a number from {least} to the most that the device takes")
            }
            Self::Queues => Self::UpToMost(1).words() + OR_FOR_EACH_CPU,
            Self::PowerOfTwo(share) => format!("0, or a power of two up to {}", share_words(share)),
            Self::UpToShare(least, share) => {
                format!("a number from {least} to {}", share_words(share))
            }
            Self::Sizes(least, share) => {
                let least: Vec<String> = least.iter().map(ToString::to_string).collect();
                format!(
                    "{} numbers with commas between them, none less than the one before it, at least {}, \
                     the last at most {}",
                    least.len(),
                    least.join(","),
                    share_words(share)
                )
            }
            Self::Ports => format!(
                "the first and the last, with a comma between them, from {FIRST_PORT} to {LAST_PORT}, \
                 with at least {LEAST_PORTS} between them that net.ipv4.ip_local_reserved_ports does \
                 not take"
            ),
            Self::Words(words) => words.join(", "),
            Self::Offered(file) => format!("one of the words in /{file}"),
            Self::Cpus => {
                format!(
                    "a list of CPUs such as 0-3,8, none, or {SPREAD} for those of its own for each queue"
                )
            }
            Self::SomeCpus => {
                format!("a list of CPUs such as 0-3,8, or {SPREAD} for one CPU each")
            }
        }
    }
}

/// Whether a range of ports has as many as a machine needs.
fn are_enough(bounds: &[i64], tree: &Tree) -> bool {
    let [
        first @ FIRST_PORT..=LAST_PORT,
        last @ FIRST_PORT..=LAST_PORT,
    ] = bounds
    else {
        return false;
    };
    let reserved = tree.text(RESERVED_PORTS).unwrap_or_default();
    let reserved: Vec<(i64, i64)> = reserved.trim().split(',').filter_map(ports).collect();
    let is_reserved = |port: &i64| {
        reserved
            .iter()
            .any(|(from, to)| (from..=to).contains(&port))
    };
    (*first..=*last).filter(|port| !is_reserved(port)).count() >= LEAST_PORTS
}

/// A port, or a range of them.
fn ports(text: &str) -> Option<(i64, i64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// The words of a kernel file that lists what there is to choose from.
fn offered(tree: &Tree, file: &str) -> Vec<String> {
    let text = tree.text(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}
