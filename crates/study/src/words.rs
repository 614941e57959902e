//! The standard error output of `ssh` and of remote commands, kept for when something fails.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Length of the longest text that is shown, in characters: its end says what failed.
const SHOWN: usize = 600;
/// Number of bytes that are kept for that text: a character has four bytes at most.
const KEPT_BYTES: usize = 4 * SHOWN;

/// The end of the output so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words(Arc<Mutex<Vec<u8>>>);

impl Words {
    /// Reads the stream in a thread of its own until it ends. Lines that only report on the life of
    /// the connection are kept like any others.
    pub(crate) fn listen_to(&self, mut stream: impl Read + Send + 'static) -> JoinHandle<()> {
        let words = self.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                words.add(&buffer[..read]);
            }
        })
    }

    fn add(&self, said: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(said);
        let surplus = kept.len().saturating_sub(KEPT_BYTES);
        kept.drain(..surplus);
    }

    /// Returns the kept output on one line; empty if there was none.
    pub(crate) fn said(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let surplus = line.chars().count().saturating_sub(SHOWN);
        line.chars().skip(surplus).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept_on_one_line() {
        let words = Words::default();
        for number in 0..200 {
            words.add(format!("line {number}\r\n").as_bytes());
        }
        words.add(&b"x".repeat(400));
        let said = words.said();
        assert!(said.ends_with(&format!("line 199 {}", "x".repeat(400))));
        assert_eq!(said.len(), SHOWN);
        assert!(words.0.lock().unwrap().len() <= KEPT_BYTES);
    }
}
