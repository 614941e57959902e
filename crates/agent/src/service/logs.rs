//! The logs of a service: their ends for a reader, and whether one has reached its limit.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The file that gets its standard output and error.
pub(super) const OUTPUT: &str = "output.log";
/// How much of the end of a log is shown.
const SHOWN_BYTES: u64 = 2_000;
const SHOWN_LINES: usize = 12;

/// The logs of one service.
pub(super) struct Logs {
    folder: PathBuf,
    /// Its log files besides `OUTPUT`.
    files: Vec<String>,
}

impl Logs {
    pub(super) fn new(folder: &Path, files: &[String]) -> Self {
        let (folder, files) = (folder.to_owned(), files.to_vec());
        Self { folder, files }
    }

    /// The ends of the logs, for a reader; `None` where nothing was written.
    pub(super) fn last_words(&self) -> Option<String> {
        let ends: Vec<String> = self
            .names()
            .filter_map(|name| {
                let end = end_of(&self.folder.join(name)).ok()?;
                (!end.is_empty()).then(|| format!("\n  {name}:\n{end}"))
            })
            .collect();
        (!ends.is_empty()).then(|| ends.concat())
    }

    /// The log that has grown to the limit, if one has.
    pub(super) fn full(&self, limit_bytes: u64) -> Option<String> {
        let is_full = |name: &&str| {
            let found = self.folder.join(name).symlink_metadata();
            found.is_ok_and(|found| found.len() >= limit_bytes)
        };
        self.names().find(is_full).map(str::to_owned)
    }

    /// Whether a log has this text within its first bytes, where a sign of readiness is.
    pub(super) fn have(&self, text: &str) -> bool {
        self.names().any(|name| {
            let begin = read(&self.folder.join(name), 0, SEARCHED_BYTES);
            begin.is_ok_and(|begin| String::from_utf8_lossy(&begin).contains(text))
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str).chain([OUTPUT])
    }
}

/// More than any service logs before it is ready.
const SEARCHED_BYTES: u64 = 1 << 20;

/// The last lines of a file, without what a terminal would act on.
fn end_of(path: &Path) -> io::Result<String> {
    let length = path.symlink_metadata()?.len();
    let bytes = read(path, length.saturating_sub(SHOWN_BYTES), SHOWN_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    let set_in = |line: &&str| format!("    {}", foreign::shown(line));
    Ok(shown.iter().map(set_in).collect::<Vec<_>>().join("\n"))
}

/// Reads a piece of a plain file. The service could have put anything else in its place, which is
/// not read.
fn read(path: &Path, from: u64, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path.symlink_metadata()?.is_file() {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        file.take(most_bytes).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::folder::Folder;
    use super::*;

    fn folder(test: &str) -> (Folder, Logs) {
        let name = format!("linerate-logs-{test}-{}", std::process::id());
        let folder = Folder::new(std::env::temp_dir().join(name)).unwrap();
        let logs = Logs::new(folder.path(), &["error.log".to_owned()]);
        (folder, logs)
    }

    #[test]
    fn the_ends_of_logs_are_shown_without_what_a_terminal_would_act_on() {
        let (folder, logs) = folder("ends");
        assert_eq!(logs.last_words(), None);
        let text = "old\n".repeat(5000) + "a\u{1b}[2Jb\n";
        folder.write("error.log", &text).unwrap();
        let words = logs.last_words().unwrap();
        assert!(words.ends_with(r"    a\u001b[2Jb"), "{words}");
        assert!(words.len() < 3000, "{}", words.len());
    }

    #[test]
    fn a_link_in_the_place_of_a_log_is_not_followed() {
        let (folder, logs) = folder("link");
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("error.log")).unwrap();
        assert_eq!(logs.last_words(), None);
    }
}
