//! The judgement as JSON; `model::judgement` has the shape and its version.

use serde::Serialize;

/// Pretty JSON of a judgement, of whatever kind of run, without a newline at its end.
///
/// # Panics
/// Never: all that a judgement holds, JSON holds too.
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
