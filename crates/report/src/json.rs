//! The judgement as JSON. `model::judgement` defines its shape and version.

use serde::Serialize;

/// Renders the judgement of any kind of run as pretty JSON, without a newline at its end.
///
/// # Panics
/// Never: everything that a judgement holds can be written as JSON.
pub fn render(judgement: &impl Serialize) -> String {
    serde_json::to_string_pretty(judgement)
        .expect("a judgement is structs, lists, strings and numbers, which JSON always holds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use model::Judgement;

    #[test]
    fn what_is_rendered_reads_back_as_a_judgement() {
        let judgement = sample::judgement();
        let read: Judgement = serde_json::from_str(&render(&judgement)).unwrap();
        assert_eq!(read.doubts, judgement.doubts);
        assert_eq!(read.steps.len(), judgement.steps.len());
    }
}
