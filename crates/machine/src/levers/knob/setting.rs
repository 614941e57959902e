//! What there is to set of each kind of place: the lines of `knobs.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::LazyLock;

use model::as_text;
use serde::{Deserialize, Serialize};

use crate::levers::value::Form;

/// By kind.
static TABLES: LazyLock<BTreeMap<String, Vec<Named>>> = LazyLock::new(|| {
    let tables: BTreeMap<String, BTreeMap<String, Row>> =
        crate::tables::own(include_str!("../../../knobs.toml"));
    let named = |table: BTreeMap<_, _>| table.into_iter().map(|(name, row)| Named { name, row });
    let tables = tables.into_iter();
    tables
        .map(|(kind, table)| (kind, named(table).collect()))
        .collect()
});

/// A line; what each is, the file says.
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
    /// What the kernel moves along with it.
    pub(super) follower: Option<String>,
    /// What a number begins with.
    #[serde(default)]
    pub(crate) usual: i64,
}

/// Whether it is of what comes in, or of what leaves.
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
    /// Whether it is of receiving; else of sending.
    pub(crate) fn is_of_receiving(&self) -> bool {
        self.way == Way::Rx
    }
}

/// A name of a table, with its line.
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
            /// Each that there is.
            pub(crate) fn all() -> impl Iterator<Item = Self> {
                TABLES[$kind].iter().map(Self)
            }

            /// Where it is.
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
    /// A file of `/sys` of which the machine has one.
    HostSetting = "host";
    /// A file of each CPU.
    CpuSetting = "cpu";
    /// A file of each network device.
    DeviceSetting = "device";
    /// A file of each queue of a network device.
    QueueSetting = "queue";
    /// A size of a network device, bytes.
    LinkSetting = "link";
    /// A metric of a route; 0 where none is set.
    RouteMetric = "route";
    /// A feature of a network device, on or off.
    FeatureName = "feature";
}
