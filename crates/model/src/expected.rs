//! The answer that an HTTP service is expected to give, and how a right answer is recognised.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// What the answer to a request must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Expected {
    /// This body, byte for byte.
    Body(String),
    /// Any answer with these properties; bodies may differ from one another.
    Like(Box<Likeness>),
}

/// Properties that right answers share; all that are given must hold. Variables are not replaced
/// here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Likeness {
    /// HTTP status, 200 to 399; null allows any of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Required headers: name, and exact value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub header: BTreeMap<String, String>,
    /// Smallest and largest length of the body, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<[u64; 2]>,
    /// A regular expression that must match somewhere in the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// Required values of a JSON body: JSON pointer (RFC 6901), and the text, number or truth value
    /// there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub json: BTreeMap<String, Value>,
}

impl Expected {
    /// The text of an exact body, which may contain variables.
    pub(crate) fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Body(text) => Some(text),
            Self::Like(_) => None,
        }
    }
}

/// Written by hand, so that an error names the field that is wrong and not everything that could
/// have been there.
impl<'de> Deserialize<'de> for Expected {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BodyOrTable)
    }
}

struct BodyOrTable;

impl<'de> Visitor<'de> for BodyOrTable {
    type Value = Expected;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the exact body, or a table of `status`, `header`, `length`, `regex`, `json`")
    }

    fn visit_str<E: Error>(self, body: &str) -> Result<Expected, E> {
        Ok(Expected::Body(body.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Expected, A::Error> {
        let likeness = Likeness::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(Expected::Like(Box::new(likeness)))
    }
}
