//! Doubts as they are saved in runs, with their words for a reader.

use model::Doubt;
use serde_json::{Value, json};

pub(crate) fn worded(doubts: &[Doubt]) -> Vec<Value> {
    doubts.iter().map(one).collect()
}

fn one(doubt: &Doubt) -> Value {
    let mut value = json!(doubt);
    if let Value::Object(fields) = &mut value {
        fields.insert("what".to_owned(), json!(doubt.what()));
        fields.insert("advice".to_owned(), json!(doubt.advice()));
    }
    value
}
