//! Reads what a guest writes to a port: qemu writes it to a file, which is read as it grows.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The reading end of a port.
pub(super) struct Port {
    file: File,
    /// Bytes of a line that is not complete yet.
    begun: Vec<u8>,
}

impl Port {
    /// Creates the file that qemu is to write.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        File::create(path)?;
        Ok(Self {
            file: File::open(path)?,
            begun: Vec::new(),
        })
    }

    /// Returns what was written since the last call, and the lines that it completes.
    pub(super) fn more(&mut self) -> io::Result<(Vec<u8>, Vec<String>)> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        self.begun.extend(&bytes);
        let end = self.begun.iter().rposition(|byte| *byte == b'\n');
        let whole: Vec<u8> = self.begun.drain(..end.map_or(0, |end| end + 1)).collect();
        let text = String::from_utf8_lossy(&whole);
        Ok((bytes, text.lines().map(str::to_owned).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_given_out_when_it_is_whole_and_once() {
        let path = std::env::temp_dir().join(format!("xtask-port-{}", std::process::id()));
        let mut port = Port::create(&path).unwrap();
        let mut text = String::new();
        let mut lines = |more: &str| {
            text += more;
            std::fs::write(&path, &text).unwrap();
            let (bytes, lines) = port.more().unwrap();
            assert_eq!(bytes, more.as_bytes());
            lines
        };
        assert!(lines("on").is_empty());
        assert_eq!(lines("e\ntwo\nth"), ["one", "two"]);
        assert_eq!(lines("ree\n"), ["three"]);
        assert!(lines("").is_empty());
        std::fs::remove_file(path).unwrap();
    }
}
