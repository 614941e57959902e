//! The pages of factorial runs: what they say, and that they can be looked at.

mod answers;
#[path = "../../../judge/tests/built_commands/mod.rs"]
mod built_commands;
mod made_up;
mod pages;

use made_up::MadeUp;

impl MadeUp {
    fn text(&self, width: usize) -> String {
        report::factorial::render(&self.run, &self.judgement, &self.evidence, width, false)
    }

    /// The answer, on one line.
    fn answer(&self) -> String {
        let text = self.text(10_000);
        text.lines().next().unwrap_or_default().to_owned()
    }
}

/// Asserts that `text` contains `words`.
#[track_caller]
fn says(text: &str, words: &str) {
    assert!(text.contains(words), "“{words}” is not in: {text}");
}
