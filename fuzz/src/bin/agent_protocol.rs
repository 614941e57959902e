//! The lines between study and agent, in both directions: what can be decoded can be encoded again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::{Ask, Tell};

fuzz_target!(|line: &[u8]| {
    if let Ok(ask) = serde_json::from_slice::<Ask>(line) {
        fuzz::survives_encoding(&ask);
    }
    if let Ok(tell) = serde_json::from_slice::<Tell>(line) {
        fuzz::survives_encoding(&tell);
    }
});
