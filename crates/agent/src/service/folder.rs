//! A service's own folder: its configuration goes in, its logs come out.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where what it writes to its standard output and error goes.
const OUTPUT: &str = "output.log";
/// How much of a log's end is shown.
const SHOWN_BYTES: u64 = 2_000;
const SHOWN_LINES: usize = 12;

/// A folder that goes when this is dropped.
pub(super) struct Folder {
    path: PathBuf,
    owner: Option<u32>,
}

impl Folder {
    /// Makes a folder that only the service's user may enter.
    pub(super) fn new(owner: Option<u32>) -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("linerate-service-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // It must be new: one that somebody else made in a public place could be his trap.
        DirBuilder::new().mode(0o700).create(&path)?;
        let folder = Self { path, owner };
        folder.give(&folder.path)?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file that the service may read and write, with the folders that lead to it.
    pub(super) fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let mut path = self.path.clone();
        let mut parts = Path::new(file).iter().peekable();
        while let Some(part) = parts.next() {
            path.push(part);
            if parts.peek().is_some() && !path.exists() {
                fs::create_dir(&path)?;
                self.give(&path)?;
            }
        }
        fs::write(&path, text)?;
        self.give(&path)
    }

    /// Opens the file for what the service says.
    pub(super) fn output(&self) -> io::Result<File> {
        let path = self.path.join(OUTPUT);
        let file = File::options().append(true).create_new(true).open(&path)?;
        self.give(&path)?;
        Ok(file)
    }

    /// The ends of its logs, for a reader; `None` where nothing was written.
    pub(super) fn last_words(&self, logs: &[String]) -> Option<String> {
        let names = logs.iter().map(String::as_str).chain([OUTPUT]);
        let ends: Vec<String> = names
            .filter_map(|name| {
                let end = end_of(&self.path.join(name)).ok()?;
                (!end.is_empty()).then(|| format!("\n  {name}:\n{end}"))
            })
            .collect();
        (!ends.is_empty()).then(|| ends.concat())
    }

    /// The log that has grown to the limit, if one has.
    pub(super) fn full_log(&self, logs: &[String], limit_bytes: u64) -> Option<String> {
        let mut names = logs.iter().map(String::as_str).chain([OUTPUT]);
        let is_full = |name: &&str| {
            let found = self.path.join(name).symlink_metadata();
            found.is_ok_and(|found| found.len() >= limit_bytes)
        };
        names.find(is_full).map(str::to_owned)
    }

    fn give(&self, path: &Path) -> io::Result<()> {
        match self.owner {
            Some(owner) => chown(path, Some(owner), Some(owner)),
            None => Ok(()),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The last lines of a file, without what a terminal would act on. Only of a plain file: what the
/// service put in its place could be anything, and we may be root.
fn end_of(path: &Path) -> io::Result<String> {
    if !path.symlink_metadata()?.is_file() {
        return Ok(String::new());
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(SHOWN_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(SHOWN_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    let printable = |line: &&str| {
        let plain = line.replace(|c: char| c.is_control() && c != '\t', "?");
        format!("    {plain}")
    };
    Ok(shown.iter().map(printable).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_logs_are_shown_without_what_a_terminal_would_act_on() {
        let folder = Folder::new(None).unwrap();
        assert_eq!(folder.last_words(&["error.log".to_owned()]), None);
        let text = "old\n".repeat(5000) + "a\u{1b}[2Jb\n";
        folder.write("error.log", &text).unwrap();
        let words = folder.last_words(&["error.log".to_owned()]).unwrap();
        assert!(words.ends_with("    a?[2Jb"), "{words}");
        assert!(words.len() < 3000, "{}", words.len());
    }

    #[test]
    fn a_link_in_the_place_of_a_log_is_not_followed() {
        let folder = Folder::new(None).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("error.log")).unwrap();
        assert_eq!(folder.last_words(&["error.log".to_owned()]), None);
    }

    #[test]
    fn a_folder_goes_with_everything_in_it() {
        let folder = Folder::new(None).unwrap();
        folder.write("a/b/c.conf", "text").unwrap();
        let path = folder.path().to_owned();
        assert_eq!(fs::read_to_string(path.join("a/b/c.conf")).unwrap(), "text");
        drop(folder);
        assert!(!path.exists());
    }
}
