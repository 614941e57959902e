//! What an HTTP service answers by its own account, and by what an answer is told to be right.

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
    /// Any answer that is like this; bodies may differ from one another.
    Like(Box<Likeness>),
}

/// What right answers have in common; all that is said must hold. Variables are none here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Likeness {
    /// Status of HTTP, 200 to 399; null for any of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Name of a header to its exact value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub header: BTreeMap<String, String>,
    /// The least and the most that its body may have, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<[u64; 2]>,
    /// A regular expression that finds something in its body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// JSON pointer (RFC 6901) to the text, number or truth value that its body has there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub json: BTreeMap<String, Value>,
}

impl Expected {
    /// The text of an exact body, in which variables may stand.
    pub(crate) fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Body(text) => Some(text),
            Self::Like(_) => None,
        }
    }
}

/// By hand, so that an error is about the field that is wrong and not about all that might have stood there.
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
