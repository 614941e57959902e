//! The values that a lever takes.

use std::borrow::Cow;

use super::{Knob, Site, Value};
use crate::tree::Tree;

/// The values that a lever takes.
pub(super) enum Accepts {
    Range(i64, i64),
    /// 0, or a power of two up to this: the kernel makes one of what it is given.
    PowerOfTwo(i64),
    /// From this to the most that the kernel says it can be.
    UpToMost(i64),
    /// So many numbers, none less than the one before it.
    Rising(usize),
    /// The same, none less than this.
    RisingFrom(i64, usize),
    Words(&'static [&'static str]),
    /// One of the words in a file of the kernel.
    Offered(&'static str),
    Cpus,
    /// At least one CPU, or [`SPREAD`].
    CpusOrSpread,
}

/// Typed for one CPU for each knob, one after the other.
const SPREAD: &str = "spread";

impl Accepts {
    pub(super) fn takes(&self, tree: &Tree, knob: &Knob, value: &Value) -> bool {
        match (self, value) {
            (Self::UpToMost(least), Value::Number(number)) => {
                number >= least && knob.most(tree).is_none_or(|most| *number <= most)
            }
            (Self::Range(least, most), Value::Number(number)) => (least..=most).contains(&number),
            (Self::PowerOfTwo(most), Value::Number(number)) => {
                *number == 0 || (1..=*most).contains(number) && number.count_ones() == 1
            }
            (Self::Rising(count), Value::Numbers(numbers)) => {
                numbers.len() == *count && numbers.is_sorted() && numbers[0] >= 0
            }
            (Self::RisingFrom(least, count), Value::Numbers(numbers)) => {
                numbers.len() == *count && numbers.is_sorted() && numbers[0] >= *least
            }
            (Self::Words(words), Value::Word(word)) => words.contains(&word.as_str()),
            (Self::Offered(file), Value::Word(word)) => offered(tree, file).contains(word),
            (Self::Cpus, Value::Numbers(_)) => true,
            (Self::CpusOrSpread, Value::Numbers(cpus)) => !cpus.is_empty(),
            _ => false,
        }
    }

    /// What the `nth` of the knobs is set to by what is typed for all of them.
    pub(super) fn share<'t>(&self, site: &Site, typed: &'t str, nth: usize) -> Cow<'t, str> {
        let cpus = match self {
            Self::CpusOrSpread if typed == SPREAD => site.online_cpus().unwrap_or_default(),
            _ => Vec::new(),
        };
        let cpu = cpus.iter().cycle().nth(nth);
        cpu.map_or(Cow::Borrowed(typed), |cpu| Cow::Owned(cpu.to_string()))
    }

    /// The values of one knob, with what the kernel says of it.
    pub(super) fn words_for(&self, site: &Site, knob: &Knob) -> String {
        match (self, knob.most(&site.tree)) {
            (Self::UpToMost(least), Some(most)) => Self::Range(*least, most).words(),
            _ => self.words_at(site),
        }
    }

    /// The values, with those that the kernel offers at a site.
    pub(super) fn words_at(&self, site: &Site) -> String {
        match self {
            Self::Offered(file) => format!("one of {}", offered(&site.tree, file).join(", ")),
            _ => self.words(),
        }
    }

    pub(super) fn words(&self) -> String {
        match self {
            Self::Range(0, 1) => "0 or 1".to_owned(),
            Self::Range(least, most) => format!("a number from {least} to {most}"),
            Self::UpToMost(least) => {
                format!("a number from {least} to the most that the device takes")
            }
            Self::PowerOfTwo(most) => format!("0, or a power of two up to {most}"),
            Self::Rising(count) => format!(
                "{count} numbers with commas between them, none less than the one before it"
            ),
            Self::RisingFrom(least, count) => {
                format!("{}, none less than {least}", Self::Rising(*count).words())
            }
            Self::Words(words) => words.join(", "),
            Self::Offered(file) => format!("one of the words in /{file}"),
            Self::Cpus => "a list of CPUs such as 0-3,8, or none".to_owned(),
            Self::CpusOrSpread => {
                format!("a list of CPUs such as 0-3,8, or {SPREAD} for one CPU each")
            }
        }
    }
}

/// The words of a kernel file that lists what there is to choose from.
fn offered(tree: &Tree, file: &str) -> Vec<String> {
    let text = tree.text(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}
