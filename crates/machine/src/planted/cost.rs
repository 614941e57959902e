//! The costs and switches of `crates/machine/planted.toml`. Each is of a kind that this code can
//! set.

use std::sync::LazyLock;

use model::Binds;
use model::lever::{LeverShape, Takes};
use serde::Deserialize;

use super::rules::HeldRules;
use super::seccomp_filter::{self, Reads};
use super::{ChildPart, Held, Planted, PlantedError, SetLever, Wanted};
use super::{packet_tap, token_bucket};
use crate::nftables::Table;

const FILE: &str = include_str!("../../planted.toml");

static ALL: LazyLock<Vec<Cost>> = LazyLock::new(|| crate::tables::own::<File>(FILE).planted);

/// Every cost and every switch.
pub fn all() -> impl Iterator<Item = &'static dyn Planted> {
    ALL.iter().map(|cost| -> &dyn Planted { cost })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    planted: Vec<Cost>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cost {
    name: String,
    summary: String,
    /// The numbers that it takes; `None` if it is just on or off.
    takes: Option<Numbers>,
    how: How,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    from: u64,
    to: u64,
    usual: u64,
}

/// How it is set.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    /// A flag of our server without a value.
    Flag(String),
    FlagWithNumber(String),
    /// Our server's message, with as many bytes as the number says.
    Message,
    Filter(Reads),
    /// Rules of our own table in the packet filter.
    Rules(Table),
    MachineRules,
    PacketTap,
    TokenBucket,
    /// Sets nothing, but takes every step of a cost that binds live.
    Nothing,
}

impl Planted for Cost {
    fn name(&'static self) -> &'static str {
        &self.name
    }

    fn binds(&self) -> Binds {
        match self.how {
            How::Filter(_) => Binds::Fork,
            _ if self.only_serve() => Binds::Fork,
            _ => Binds::Live,
        }
    }

    fn summary(&'static self) -> &'static str {
        &self.summary
    }

    fn takes(&self) -> Takes {
        let range = |it: &Numbers| Takes::Number(it.from..=it.to);
        self.takes.as_ref().map_or(Takes::Nothing, range)
    }

    fn only_serve(&self) -> bool {
        matches!(
            self.how,
            How::Flag(_) | How::FlagWithNumber(_) | How::Message
        )
    }

    /// Tries a live cost by setting and undoing it. In a namespace of our own that disturbs nobody,
    /// and no other answer is as certain.
    fn unavailable(&'static self, wanted: Wanted<'_>) -> Option<String> {
        if let How::Filter(_) = self.how {
            return seccomp_filter::unavailable();
        }
        if self.only_serve() {
            return None;
        }
        let tried = self.number(wanted).and_then(|number| {
            let held = self.held(number)?;
            held.verify()?;
            held.undo()
        });
        tried.err().map(|error| error.to_string())
    }

    fn set(&'static self, wanted: Wanted<'_>) -> Result<SetLever, PlantedError> {
        let number = self.number(wanted)?;
        let arguments = |words: [String; 2]| Ok(SetLever::ServeArgument(words.to_vec()));
        match &self.how {
            How::Flag(flag) => Ok(SetLever::ServeArgument(vec![flag.clone()])),
            How::FlagWithNumber(flag) => arguments([flag.clone(), number.to_string()]),
            How::Message => {
                let message = (0..number).map(|_| 'x').collect();
                arguments(["--message".to_owned(), message])
            }
            How::Filter(reads) => Ok(SetLever::Child(ChildPart {
                seccomp: seccomp_filter::filter(*reads),
                ..ChildPart::default()
            })),
            _ => self.held(number).map(SetLever::Held),
        }
    }
}

impl Cost {
    /// Sets a cost that lives in a network namespace of our own.
    fn held(&'static self, number: u64) -> Result<Box<dyn Held + Send>, PlantedError> {
        // The range of each such cost fits `u16`.
        let count = u16::try_from(number).unwrap_or(u16::MAX);
        Ok(match &self.how {
            How::Rules(table) => Box::new(HeldRules::of_table(&self.name, table, count)?),
            How::MachineRules => Box::new(HeldRules::of_the_machine(&self.name)?),
            How::PacketTap => Box::new(packet_tap::hold(count)?),
            How::TokenBucket => Box::new(token_bucket::hold()?),
            _ => Box::new(HeldNothing),
        })
    }

    /// Returns the number that is wanted, or the usual one; 0 if the cost is just on or off.
    fn number(&'static self, wanted: Wanted<'_>) -> Result<u64, PlantedError> {
        let expected = LeverShape {
            name: &self.name,
            takes: self.takes(),
        };
        if let Some(value) = wanted.value.filter(|_| !expected.takes(wanted.value)) {
            return Err(PlantedError::Words(format!(
                "{} cannot be {value}; expected {expected}",
                self.name
            )));
        }
        let number = wanted.value.and_then(|value| value.parse().ok());
        let usual = self.takes.as_ref().map_or(0, |numbers| numbers.usual);
        Ok(number.unwrap_or(usual))
    }
}

struct HeldNothing;

impl Held for HeldNothing {
    fn verify(&self) -> Result<(), PlantedError> {
        Ok(())
    }

    fn undo(self: Box<Self>) -> Result<(), PlantedError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_file_is_read_and_each_row_has_its_page() {
        let rows = crate::tables::own::<File>(FILE).planted;
        let page = |cost: Cost| format!("{}.md", cost.name);
        let mut pages: BTreeSet<String> = rows.into_iter().map(page).collect();
        pages.insert("README.md".to_owned());
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/planted");
        let entries = std::fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.collect::<BTreeSet<String>>(), pages);
    }

    #[test]
    fn a_message_has_as_many_bytes_as_were_asked_for() {
        let lever = all().find(|cost| cost.name() == "message-bytes").unwrap();
        for (value, bytes) in [(None, 65_536), (Some("100000"), 100_000)] {
            let wanted = Wanted {
                value,
                ..Wanted::default()
            };
            let SetLever::ServeArgument(arguments) = lever.set(wanted).unwrap() else {
                panic!("it is no argument");
            };
            assert_eq!(arguments[0], "--message");
            assert_eq!(arguments[1].len(), bytes);
        }
    }
}
