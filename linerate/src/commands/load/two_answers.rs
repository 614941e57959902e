//! A first look at the target: two answers to one request.

use agent::request::Asked;
use traffic::load::Probe;

/// Two answers to the same request.
#[derive(Clone, Debug)]
pub(super) struct TwoAnswers {
    pub(super) first: Probe,
    /// Whether both had the same body.
    pub(super) body_is_steady: bool,
}

impl TwoAnswers {
    pub(super) fn of(first: Asked, second: &Asked) -> Self {
        Self {
            body_is_steady: first.answer.body == second.answer.body,
            first: first.answer,
        }
    }

    /// Remarks for the reader about how these answers are treated.
    pub(super) fn notes(&self, who: &str) -> Vec<String> {
        let mut notes = Vec::new();
        let status = self.first.status;
        if (300..400).contains(&status) {
            notes.push(format!(
                "{who} answers {status}; a redirect is an answer here and is not followed"
            ));
        }
        if status >= 400 {
            notes.push(format!("{who} answers {status}, which counts as a failure"));
        }
        if !self.body_is_steady {
            notes.push(format!(
                "two answers of {who} had different bodies, so bodies are not compared"
            ));
        }
        notes
    }
}
