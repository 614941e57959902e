//! What a guest writes into a port: qemu puts it into a file, which is read as it grows.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The reading end of a port.
pub(super) struct Port {
    file: File,
}

impl Port {
    /// Makes the file that qemu is to write.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        File::create(path)?;
        let file = File::open(path)?;
        Ok(Self { file })
    }

    /// What was written since the last call.
    pub(super) fn new_bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Bytes on their way to being lines.
#[derive(Default)]
pub(super) struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// Takes in more, and gives out the lines that are complete now.
    pub(super) fn complete(&mut self, bytes: &[u8]) -> Vec<String> {
        self.begun.extend(bytes);
        let end = self.begun.iter().rposition(|byte| *byte == b'\n');
        let whole: Vec<u8> = self.begun.drain(..end.map_or(0, |end| end + 1)).collect();
        let text = String::from_utf8_lossy(&whole);
        text.lines().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_given_out_when_it_is_whole_and_once() {
        let mut lines = Lines::default();
        assert!(lines.complete(b"on").is_empty());
        assert_eq!(lines.complete(b"e\ntwo\nth"), ["one", "two"]);
        assert_eq!(lines.complete(b"ree\n"), ["three"]);
        assert!(lines.complete(b"").is_empty());
    }
}
