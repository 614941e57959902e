//! What `ssh` and far commands say on their standard error, kept for when something fails.

use std::io::{BufRead as _, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// The most that is kept, in characters: the end says what failed.
const KEPT: usize = 600;

/// The end of what was said so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words(Arc<Mutex<String>>);

impl Words {
    /// Listens in a thread of its own until the stream ends. Lines that are no more than news of
    /// the connection's life are as good as any.
    pub(crate) fn listen_to(&self, stream: impl Read + Send + 'static) {
        let words = self.clone();
        std::thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                words.add(&String::from_utf8_lossy(&line));
                line.clear();
            }
        });
    }

    fn add(&self, line: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_str(&printable(line));
        kept.push(' ');
        let too_many = kept.chars().count().saturating_sub(KEPT);
        *kept = kept.chars().skip(too_many).collect();
    }

    /// What was said, on one line; empty for nothing.
    pub(crate) fn said(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.trim().to_owned()
    }
}

/// Without what a terminal would act on.
pub(crate) fn printable(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.trim().chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept_and_nothing_that_a_terminal_would_act_on() {
        let words = Words::default();
        for number in 0..200 {
            words.add(&format!("line {number}\u{1b}[2J\n"));
        }
        let said = words.said();
        assert!(said.ends_with("line 199 [2J"), "{said}");
        assert!(said.len() <= KEPT && !said.contains('\u{1b}'), "{said}");
    }
}
