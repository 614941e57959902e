//! The settings of each kind of place: the lines of `knobs.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::LazyLock;

use model::as_text;
use serde::{Deserialize, Serialize};

use crate::levers::value::Form;

/// The tables by kind of place.
static TABLES: LazyLock<BTreeMap<String, Vec<Named>>> = LazyLock::new(|| {
    let tables: BTreeMap<String, BTreeMap<String, Row>> =
        crate::tables::own(include_str!("../../../knobs.toml"));
    let named = |table: BTreeMap<_, _>| table.into_iter().map(|(name, row)| Named { name, row });
    let tables = tables.into_iter();
    tables
        .map(|(kind, table)| (kind, named(table).collect()))
        .collect()
});

/// A line of a table; `knobs.toml` explains its fields.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    word: Option<String>,
    #[serde(default = "number")]
    pub(super) form: Form,
    #[serde(default)]
    pub(super) attribute: u16,
    #[serde(default)]
    way: Way,
    /// The knob that the kernel moves along with this one.
    pub(super) follower: Option<String>,
    /// The value that a number has at first.
    #[serde(default)]
    pub(crate) usual: i64,
}

/// Whether a setting is about received or sent packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    #[default]
    Rx,
    Tx,
}

fn number() -> Form {
    Form::Number
}

impl Row {
    /// Whether it is about receiving; otherwise it is about sending.
    pub(crate) fn is_of_receiving(&self) -> bool {
        self.way == Way::Rx
    }
}

/// A line of a table with its name.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    name: String,
    row: Row,
}

macro_rules! settings {
    ($($(#[$what:meta])* $setting:ident = $kind:literal;)*) => {$(
        $(#[$what])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $setting(&'static Named);

        impl $setting {
            /// All settings of this kind.
            pub(crate) fn all() -> impl Iterator<Item = Self> {
                TABLES[$kind].iter().map(Self)
            }

            /// The setting's word for the kernel, such as a path, which defaults to its name.
            pub(crate) fn word(self) -> &'static str {
                self.0.row.word.as_deref().unwrap_or(&self.0.name)
            }
        }

        impl Deref for $setting {
            type Target = Row;

            fn deref(&self) -> &Row {
                &self.0.row
            }
        }

        impl FromStr for $setting {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let mut all = Self::all();
                all.find(|setting| setting.0.name == text)
                    .ok_or_else(|| format!("`{text}` is no setting of a {}", $kind))
            }
        }

        impl fmt::Display for $setting {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0.name)
            }
        }

        as_text!($setting);
    )*};
}

settings! {
    /// A file of `/sys` that exists once on a machine.
    HostSetting = "host";
    /// A file that each CPU has.
    CpuSetting = "cpu";
    /// A file that each network device has.
    DeviceSetting = "device";
    /// A file that each queue of a network device has.
    QueueSetting = "queue";
    /// A size of a network device, bytes.
    LinkSetting = "link";
    /// A metric of a route; 0 where none is set.
    RouteMetric = "route";
    /// A feature of a network device, on or off.
    FeatureName = "feature";
}
