//! Values of a type, generated from its schema: whatever the type admits, with texts and numbers
//! that nobody thought of.

use model::random::SplitMix64;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value, json};

/// Texts that an encoding could trip over.
const TEXTS: [&str; 6] = [
    "",
    "plain",
    "two words\n\"quoted\"",
    "é\u{1b}\u{2028}",
    "小型回應",
    "{}[]\\",
];
/// Longest list and largest map that is made.
const MOST: usize = 3;

/// The schema of a type, from which its values are made.
pub(crate) struct Shape {
    schema: Value,
}

impl Shape {
    pub(crate) fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::draft2020_12().for_deserialize();
        let schema = settings.into_generator().into_root_schema_for::<T>();
        Self {
            schema: schema.to_value(),
        }
    }

    /// A value of the type, a different one for each seed.
    pub(crate) fn made<T: DeserializeOwned>(&self, seed: u64) -> T {
        let mut maker = Maker {
            types: &self.schema["$defs"],
            random: SplitMix64::new(seed),
        };
        let made = maker.value(&self.schema);
        serde_json::from_value(made.clone()).unwrap_or_else(|error| panic!("{error}: {made:#}"))
    }
}

struct Maker<'a> {
    types: &'a Value,
    random: SplitMix64,
}

impl Maker<'_> {
    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound)
    }

    fn value(&mut self, schema: &Value) -> Value {
        if let Some(only) = schema.get("const") {
            return only.clone();
        }
        if let Some(choices) = schema["enum"].as_array() {
            return choices[self.below(choices.len())].clone();
        }
        let mut made = Value::Null;
        if let Some(place) = schema["$ref"].as_str() {
            made = self.named(place.trim_start_matches("#/$defs/"));
        }
        for choices in ["oneOf", "anyOf"] {
            if let Some(choices) = schema[choices].as_array() {
                let choice = &choices[self.below(choices.len())];
                merge(&mut made, self.value(choice));
            }
        }
        let own = self.of_kind(schema);
        merge(&mut made, own);
        made
    }

    /// A value of a named type. A few types are narrower than their schemas can say.
    fn named(&mut self, name: &str) -> Value {
        match name {
            "LeverSetting" => json!(["conntrack", "nft-rules=100"][self.below(2)]),
            "ServerFolder" => json!({ "path": self.text(), "address": "::1" }),
            "Histogram" => json!([[self.below(5248), self.random.bits() >> 8]]),
            _ => {
                let types = self.types;
                self.value(&types[name])
            }
        }
    }

    fn of_kind(&mut self, schema: &Value) -> Value {
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[self.below(kinds.len())].as_str(),
            kind => kind.as_str(),
        };
        match kind {
            Some("object") => self.object(schema),
            Some("array") => self.list(schema),
            Some("string") => self.text(),
            Some("boolean") => json!(self.below(2) == 1),
            Some("integer") => self.whole(schema),
            // Eighths are exact in decimals.
            Some("number") => json!(self.below(1 << 30) as f64 / 8.0 - 1e6),
            _ => Value::Null,
        }
    }

    /// An object with all required properties and about half of the others.
    fn object(&mut self, schema: &Value) -> Value {
        let mut made = Map::new();
        let required = schema["required"].as_array();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.is_some_and(|all| all.contains(&json!(name)));
            if is_required || self.below(2) == 1 {
                let value = match name.as_str() {
                    "address" => json!("127.0.0.1:80"),
                    "listens" => json!(["[::1]:80"]),
                    "listen" | "card_at" => json!("::1"),
                    _ => self.value(property),
                };
                made.insert(name.clone(), value);
            }
        }
        if schema["additionalProperties"].is_object() {
            for _ in 0..self.below(MOST) {
                let key = format!("key {}", self.below(100));
                made.insert(key, self.value(&schema["additionalProperties"]));
            }
        }
        Value::Object(made)
    }

    #[expect(clippy::cast_possible_truncation, reason = "bounds of short lists")]
    fn list(&mut self, schema: &Value) -> Value {
        let places = schema["prefixItems"].as_array();
        if let Some(places) = places {
            return places.iter().map(|place| self.value(place)).collect();
        }
        let bound = |name: &str| schema[name].as_u64().map(|bound| bound as usize);
        let least = bound("minItems").unwrap_or(0);
        let most = bound("maxItems").unwrap_or(MOST);
        let length = least + self.below(most - least + 1);
        (0..length).map(|_| self.value(&schema["items"])).collect()
    }

    fn text(&mut self) -> Value {
        json!(TEXTS[self.below(TEXTS.len())])
    }

    /// An integer of any order of magnitude that the type has.
    #[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
    fn whole(&mut self, schema: &Value) -> Value {
        let shift = self.below(64);
        let bits = self.random.bits() >> shift;
        let number = match schema["format"].as_str() {
            Some("int64") => Number::from(bits.cast_signed()),
            Some("int32") => Number::from(bits.cast_signed() as i32),
            Some("uint32") => Number::from(bits as u32),
            _ => match schema["maximum"].as_u64() {
                Some(most) => Number::from(bits % (most + 1)),
                None => Number::from(bits),
            },
        };
        Value::Number(number)
    }
}

/// Adds the properties of one value to those of another; any other value but null replaces it.
fn merge(made: &mut Value, more: Value) {
    match (made, more) {
        (_, Value::Null) => {}
        (Value::Object(made), Value::Object(more)) => made.extend(more),
        (made, more) => *made = more,
    }
}
