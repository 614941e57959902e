//! Which values a lever accepts.

use serde::Deserialize;

use super::share::Share;
use super::{Knob, Site, Value};
use crate::tree::Tree;

/// Which values a lever accepts.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Accepts {
    Range(i64, i64),
    /// 0, or a power of two up to this share: the kernel rounds any other number to one.
    PowerOfTwo(Share),
    /// From this number to a share of the memory.
    UpToShare(i64, Share),
    /// From this number to the largest value that the kernel reports for the knob.
    UpToMost(i64),
    /// A number of queues, up to the largest that the device reports, or [`SPREAD`].
    Queues,
    /// As many numbers as these, none less than its counterpart here or than the one before it; the
    /// last is at most a share of the memory.
    Sizes(Vec<i64>, Share),
    /// The first and the last port of a range.
    Ports,
    Words(Vec<String>),
    /// One of the words in this file of the kernel.
    Offered(String),
    /// A list of CPUs, which may be empty, or [`SPREAD`].
    Cpus,
    /// A list of CPUs with at least one for each knob, or [`SPREAD`].
    SomeCpus,
}

/// Lower ports belong to services that root starts (`ip_unprivileged_port_start`).
const FIRST_PORT: i64 = 1024;
const LAST_PORT: i64 = 65_535;
/// The fewest ports that a client's connections and its resolver's queries need, since each port is
/// in TIME-WAIT for a minute after use.
const LEAST_PORTS: usize = 4096;
/// Lists the ports of the range that the kernel assigns to nobody.
const RESERVED_PORTS: &str = "proc/sys/net/ipv4/ip_local_reserved_ports";

/// Typed in place of a value. It gives each queue a CPU of its own, one after the other; with a
/// colon and a list behind it, only from these CPUs. For a number of queues it means one for each
/// CPU at least.
pub(crate) const SPREAD: &str = "spread";
const OR_FOR_EACH_CPU: &str = ", or spread for at least one for each CPU";

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
                let fits = |largest: &i64| share.has(*largest, tree);
                sizes.len() == least.len()
                    && sizes.is_sorted()
                    && large()
                    && sizes.last().is_some_and(fits)
            }
            (Self::Ports, Value::Numbers(bounds)) => are_enough(bounds, tree),
            (Self::Words(words), Value::Word(word)) => words.contains(word),
            (Self::Offered(file), Value::Word(word)) => offered(tree, file).contains(word),
            (Self::Cpus, Value::Numbers(_)) => true,
            (Self::SomeCpus, Value::Numbers(cpus)) => !cpus.is_empty(),
            _ => false,
        }
    }

    /// All values that can be typed, where they are a few words or 0 and 1; otherwise none.
    pub(super) fn few(&self, tree: &Tree) -> Vec<String> {
        match self {
            Self::Range(0, 1) => vec!["0".to_owned(), "1".to_owned()],
            Self::Words(words) => words.clone(),
            Self::Offered(file) => offered(tree, file),
            _ => Vec::new(),
        }
    }

    /// The CPUs that the typed text distributes among queues; `None` where the text is an ordinary
    /// value.
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

    /// Describes the values of one knob, with the largest that the kernel reports for it.
    pub(super) fn words_for(&self, site: &Site, knob: &Knob) -> String {
        match (self, knob.most(&site.tree)) {
            (Self::UpToMost(least), Some(most)) => Self::Range(*least, most).words(),
            (Self::Queues, Some(most)) => Self::Range(1, most).words() + OR_FOR_EACH_CPU,
            _ => self.words_at(site),
        }
    }

    /// Describes the values, with those that the kernel offers at a site.
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
                "the first and the last port, with a comma between them, from {FIRST_PORT} to \
                 {LAST_PORT}, with at least {LEAST_PORTS} between them that \
                 net.ipv4.ip_local_reserved_ports does not reserve"
            ),
            Self::Words(words) => words.join(", "),
            Self::Offered(file) => format!("one of the words in /{file}"),
            Self::Cpus => {
                format!(
                    "a list of CPUs such as 0-3,8, none, or {SPREAD} for CPUs of its own for each queue"
                )
            }
            Self::SomeCpus => {
                format!("a list of CPUs such as 0-3,8, or {SPREAD} for one CPU each")
            }
        }
    }
}

/// Whether a range has as many free ports as a machine needs.
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

/// Parses a port or a range of ports, `FIRST-LAST`.
fn ports(text: &str) -> Option<(i64, i64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// The words of a kernel file that lists the possible values.
fn offered(tree: &Tree, file: &str) -> Vec<String> {
    let text = tree.text(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}
